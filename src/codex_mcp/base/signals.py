"""Signals that ask the server to stop."""

from __future__ import annotations

import asyncio
import contextlib
import signal
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from typing import Any, Final

from codex_mcp.base.tasks import TaskSet

STOP_SIGNALS: Final = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)
"""Sent by a client, a person, or a terminal that closes. `nohup` makes us ignore the last one."""


@contextlib.contextmanager
def signals_handled(actions: Mapping[signal.Signals, Callable[[], object]]) -> Iterator[None]:
    """Call these functions for their signals within this block. Signals that were ignored before stay ignored."""
    loop = asyncio.get_running_loop()
    handled = [number for number in actions if signal.getsignal(number) is not signal.SIG_IGN]
    for number in handled:
        loop.add_signal_handler(number, actions[number])
    # A flood of signals can fill the pipe that wakes the loop. Python would warn about that inside the signal handler,
    # which takes a lock that the interrupted code may hold: a deadlock. One wake-up is enough anyway.
    signal.set_wakeup_fd(signal.set_wakeup_fd(-1), warn_on_full_buffer=False)
    try:
        yield
    finally:
        for number in handled:
            loop.remove_signal_handler(number)


@contextlib.contextmanager
def signals_received() -> Iterator[asyncio.Queue[int]]:
    received: asyncio.Queue[int] = asyncio.Queue()
    with signals_handled({number: partial(received.put_nowait, number) for number in STOP_SIGNALS}):
        yield received


async def first(task: asyncio.Task[Any], signals: asyncio.Queue[int], *others: asyncio.Task[Any]) -> None:
    getting = TaskSet()
    signalled = getting.spawn(signals.get(), name="signal")
    await asyncio.wait([task, signalled, *others], return_when=asyncio.FIRST_COMPLETED)
    await getting.aclose()
