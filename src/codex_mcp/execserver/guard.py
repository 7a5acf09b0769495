"""Two processes instead of one, so that no command outlives the server, however it ends.

The first process, the guard, starts the second, which is the server, and waits. Both are "subreapers" of everything
the server starts: a process that loses its parent becomes the server's child, and the guard's once the server is gone.
So when the server ends, even killed, the guard finds and ends them all, including those that left their session. If the
guard is killed, the server sees the end of a pipe between the two, stops in order, and ends them itself.

The guard runs this module in a Python of its own, without `site` and with few imports: a tenth of the server's memory.
"""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Callable

import codex_mcp
from codex_mcp.base.processes.offspring import children, kill_children

FORWARDED = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)

START = (
    "import sys; sys.path.append(sys.argv[1]); "
    "from codex_mcp.execserver.guard import guard; guard(*map(int, sys.argv[2:]))"
)
"""For `python -c`, with the folder of our modules, the server's process id, and those of children not to end."""


def run_guarded(serve: Callable[[int], int]) -> int:
    """Run `serve(lifeline)` in a child, and replace this process with its guard. Call before any thread is started."""
    from codex_mcp.base.processes.orphans import adopt_orphans  # noqa: PLC0415  too large for the guard

    # A shell script may have started something in the background before it became this program: not ours to end.
    spared = map(str, children())
    adopt_orphans()  # stays in effect across exec
    lifeline, held = os.pipe()
    # A signal that arrives before it can be forwarded stays pending.
    signal.pthread_sigmask(signal.SIG_BLOCK, FORWARDED)
    server = os.fork()
    if server == 0:
        signal.pthread_sigmask(signal.SIG_UNBLOCK, FORWARDED)
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
    except BaseException:  # noqa: BLE001  the process ends here, and must report it
        sys.excepthook(*sys.exc_info())
    finally:
        os._exit(code)  # the rest of the program belongs to the parent


def guard(server: int, *spared: int) -> None:
    """Wait for the server's end, end what it left, and exit with its code. Unblocks FORWARDED."""
    for number in FORWARDED:
        signal.signal(number, lambda number, _frame: os.kill(server, number))
    signal.pthread_sigmask(signal.SIG_UNBLOCK, FORWARDED)
    try:
        code = _exit_code_of(server)
    finally:
        kill_children(but=frozenset(spared))
    sys.exit(code)


def _exit_code_of(server: int) -> int:
    """Reap children until the server has ended."""
    while True:
        pid, status = os.wait()
        if pid == server:
            code = os.waitstatus_to_exitcode(status)
            return code if code >= 0 else 128 - code
