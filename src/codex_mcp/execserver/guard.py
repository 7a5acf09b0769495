"""Two processes instead of one, so that nothing outlives the server however it ends.

The first process is small: it starts the second, which is the server, and waits. Both are "subreapers" of all that the
server starts: a process that loses its parent becomes the server's child, and the first process's once the server is
gone. So when the server ends, even killed, the first process finds and ends them all, including those that left their
session. If the first process is killed, the server sees the end of a pipe between the two, stops in order, and does it.
"""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Callable
from typing import NoReturn

import codex_mcp
from codex_mcp.base.processes.offspring import children
from codex_mcp.base.processes.orphans import adopt_orphans
from codex_mcp.execserver.guard_program import PASSED_ON, START


def run_guarded(serve: Callable[[int], int]) -> NoReturn:
    """Run `serve(lifeline)` in a child, clean up after it, and end with its exit code. Before any thread is started."""
    # A script may have started something in the background before it became this program; that is not ours to end.
    spared = map(str, children())
    adopt_orphans()  # which we stay when we become another program
    lifeline, held = os.pipe()
    # A signal that comes before there is somebody to pass it on to waits until there is.
    signal.pthread_sigmask(signal.SIG_BLOCK, PASSED_ON)
    server = os.fork()
    if server == 0:
        signal.pthread_sigmask(signal.SIG_UNBLOCK, PASSED_ON)
        os.close(held)
        _become(serve, lifeline)
    os.close(lifeline)
    os.set_inheritable(held, True)  # noqa: FBT003  the name of the function says it
    modules = os.path.dirname(os.path.dirname(codex_mcp.__file__ or ""))
    os.execv(sys.executable, [sys.executable, "-I", "-S", "-c", START, modules, str(server), *spared])


def _become(serve: Callable[[int], int], lifeline: int) -> None:
    code = 1
    try:
        code = serve(lifeline)
    except SystemExit as exc:
        code = exc.code if isinstance(exc.code, int) else 1
    except BaseException:  # noqa: BLE001  the end of the process: nobody else would tell
        sys.excepthook(*sys.exc_info())
    finally:
        os._exit(code)  # the rest of the program belongs to the parent
