"""A named pipe that a command of the agent rings (`echo > PATH`), so that a test knows that it has begun."""

import asyncio
import contextlib
import os
from collections.abc import AsyncIterator
from pathlib import Path


@contextlib.asynccontextmanager
async def doorbell(path: Path) -> AsyncIterator[asyncio.Event]:
    """Make the pipe; the event is set when somebody writes to it."""
    path.parent.mkdir(parents=True, exist_ok=True)
    os.mkfifo(path)
    descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK)
    rung = asyncio.Event()
    loop = asyncio.get_running_loop()

    def ring() -> None:
        loop.remove_reader(descriptor)
        rung.set()

    loop.add_reader(descriptor, ring)
    try:
        yield rung
    finally:
        loop.remove_reader(descriptor)
        os.close(descriptor)
