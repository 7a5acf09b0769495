"""Signals that ask the server to stop."""

from __future__ import annotations

import asyncio
import contextlib
import signal
from collections.abc import Iterator
from typing import Any, Final

from codex_mcp.base.tasks import TaskSet

STOP_SIGNALS: Final = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)
"""Sent by a client, a person, or a terminal that closes. `nohup` makes us ignore the last one."""


@contextlib.contextmanager
def signals_received() -> Iterator[asyncio.Queue[int]]:
    """Collect stop signals within this block."""
    loop = asyncio.get_running_loop()
    received: asyncio.Queue[int] = asyncio.Queue()
    handled = [number for number in STOP_SIGNALS if signal.getsignal(number) is not signal.SIG_IGN]
    for number in handled:
        loop.add_signal_handler(number, received.put_nowait, number)
    # A flood of signals can fill the pipe that wakes the loop. Python would warn about that inside the signal handler,
    # which takes a lock that the interrupted code may hold: a deadlock. One wake-up is enough anyway.
    signal.set_wakeup_fd(signal.set_wakeup_fd(-1), warn_on_full_buffer=False)
    try:
        yield received
    finally:
        for number in handled:
            loop.remove_signal_handler(number)


async def first(task: asyncio.Task[Any], signals: asyncio.Queue[int], *others: asyncio.Task[Any]) -> None:
    """Wait for one of the tasks or for the next signal."""
    getting = TaskSet()
    signalled = getting.spawn(signals.get(), name="signal")
    await asyncio.wait([task, signalled, *others], return_when=asyncio.FIRST_COMPLETED)
    await getting.aclose()
