"""Two processes instead of one, so that nothing outlives the server however it ends.

The first process is small: it starts the second, which is the server, and waits. It is the "subreaper" of all that
the server starts: whoever loses its parent becomes its child, so when the server is gone, even killed, it finds and
ends them all, including those that fled from their session. And if it is killed itself, the server sees the end of a
pipe between the two and stops in order.
"""

from __future__ import annotations

import os
import signal
from collections.abc import Callable
from types import FrameType
from typing import Final

from codex_mcp.base.orphans import adopt_orphans, kill_orphans

PASSED_ON: Final = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)


def run_guarded(serve: Callable[[int], int]) -> int:
    """Run `serve(lifeline)` in a child, and clean up after it; return its exit code. Before any thread is started."""
    adopt_orphans()
    lifeline, held = os.pipe()
    # A signal that comes before there is somebody to pass it on to waits until there is.
    signal.pthread_sigmask(signal.SIG_BLOCK, PASSED_ON)
    server = os.fork()
    if server == 0:
        signal.pthread_sigmask(signal.SIG_UNBLOCK, PASSED_ON)
        os.close(held)
        _become(serve, lifeline)
    os.close(lifeline)

    def pass_on(number: int, _frame: FrameType | None) -> None:
        os.kill(server, number)

    for number in PASSED_ON:
        signal.signal(number, pass_on)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, PASSED_ON)
    try:
        return _wait_for(server)
    finally:
        kill_orphans(())


def _become(serve: Callable[[int], int], lifeline: int) -> None:
    code = 1
    try:
        code = serve(lifeline)
    except SystemExit as exc:
        code = exc.code if isinstance(exc.code, int) else 1
    finally:
        os._exit(code)  # the rest of the program belongs to the parent


def _wait_for(server: int) -> int:
    """Bury everyone, until it is the server."""
    while True:
        pid, status = os.wait()
        if pid == server:
            code = os.waitstatus_to_exitcode(status)
            return code if code >= 0 else 128 - code
