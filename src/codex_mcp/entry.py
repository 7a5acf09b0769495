"""The programs that pip installs. Until a command runs, Ctrl-C ends them at once and without a traceback."""

import gc
import signal

if gc.isenabled():  # until a command is loaded: to look for garbage among modules, again and again, takes 10 ms
    gc.disable()

if signal.getsignal(signal.SIGINT) is signal.default_int_handler:  # a shell may have told us to ignore it
    signal.signal(signal.SIGINT, signal.SIG_DFL)

# Loading these takes the time in which people press Ctrl-C.
from codex_mcp.cli.main import exec_server_main, main, mcp_server_main

__all__ = ["exec_server_main", "main", "mcp_server_main"]
