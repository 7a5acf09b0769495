"""Signals that ask the server to stop, one by one."""

from __future__ import annotations

import asyncio
import contextlib
import signal
from collections.abc import Iterator
from typing import Any, Final

from codex_mcp.base.tasks import TaskSet

STOP_SIGNALS: Final = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)
"""What asks a program to end: a client, a person, a terminal that is closed. `nohup` has us ignore the last."""


@contextlib.contextmanager
def signals_received() -> Iterator[asyncio.Queue[int]]:
    """Collect them while inside."""
    loop = asyncio.get_running_loop()
    received: asyncio.Queue[int] = asyncio.Queue()
    heeded = [number for number in STOP_SIGNALS if signal.getsignal(number) is not signal.SIG_IGN]
    for number in heeded:
        loop.add_signal_handler(number, received.put_nowait, number)
    # A flood can fill the pipe that wakes the loop. Python would then warn of it from inside of the signal handler, for
    # which it takes a lock that the interrupted code may hold: it hangs for ever. One wake-up is as good as a thousand.
    signal.set_wakeup_fd(signal.set_wakeup_fd(-1), warn_on_full_buffer=False)
    try:
        yield received
    finally:
        for number in heeded:
            loop.remove_signal_handler(number)


async def first(task: asyncio.Task[Any], signals: asyncio.Queue[int], *others: asyncio.Task[Any]) -> None:
    """Wait for one of the tasks or for the next signal."""
    getting = TaskSet()
    signalled = getting.spawn(signals.get(), name="signal")
    await asyncio.wait([task, signalled, *others], return_when=asyncio.FIRST_COMPLETED)
    await getting.aclose()
