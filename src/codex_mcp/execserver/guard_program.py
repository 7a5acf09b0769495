"""The guarding process itself: passes signals on to the server, waits for its end, and ends all that it left behind.

It is a Python of its own, without our other modules and without `site`: a tenth of the server's memory.
"""

import os
import signal
import sys

from codex_mcp.base.processes.offspring import kill_children

PASSED_ON = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)

START = (
    "import sys; sys.path.append(sys.argv[1]); "
    "from codex_mcp.execserver.guard_program import guard; guard(*map(int, sys.argv[2:]))"
)
"""For `python -c`, with the folder of our modules, the server's number, and those of children that are not to end."""


def guard(server: int, *spared: int) -> None:
    """Stay until the server has ended, and end as it did. PASSED_ON is blocked until here."""
    for number in PASSED_ON:
        signal.signal(number, lambda number, _frame: os.kill(server, number))
    signal.pthread_sigmask(signal.SIG_UNBLOCK, PASSED_ON)
    try:
        code = _end_of(server)
    finally:
        kill_children(but=frozenset(spared))
    sys.exit(code)


def _end_of(server: int) -> int:
    """Bury everyone, until it is the server."""
    while True:
        pid, status = os.wait()
        if pid == server:
            code = os.waitstatus_to_exitcode(status)
            return code if code >= 0 else 128 - code
