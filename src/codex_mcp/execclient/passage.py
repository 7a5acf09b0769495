"""Carries the messages of one accepted connection to an exec-server that is dialled for it, and back.

The two ends live and die together: when one is lost, the other is closed, and its client resumes its session over the
next one.
"""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from collections.abc import Callable
from typing import Final, Protocol

from msgspec import Struct

from codex_mcp.base.tasks import TaskSet
from codex_mcp.execclient.connection import OUTGOING_BYTES, Dial
from codex_mcp.execclient.errors import ExecServerError
from codex_mcp.rpc.channel import Channel
from codex_mcp.rpc.watermark import Watermark

logger = logging.getLogger(__name__)

MAX_WAITING: Final = 128
MAX_WAITING_BYTES: Final = 8 * 1024 * 1024
"""Of messages that wait for the exec-server; beyond either, the client is not read."""

PAUSED_UNTIL: Final = 0.5
"""The part of both that is left when it is read again."""


class Near(Protocol):
    """The accepted connection."""

    def send(self, *parts: bytes) -> None: ...

    def pause_reading(self) -> None: ...

    def resume_reading(self) -> None: ...

    def drop(self) -> None: ...


class Destination(Struct, frozen=True):
    dial: Dial
    name: str
    """For the log."""
    dialled: Callable[[str], None] = lambda _problem: None
    """Called after each attempt, with the reason if it failed."""


class Passage:
    def __init__(self, near: Near, destination: Destination, ended: Callable[[Passage], None]) -> None:
        """`ended` is called once, when nothing of the passage is left."""
        self._near = near
        self._destination = destination
        self._waiting: deque[bytes] = deque()
        self._waiting_bytes = 0
        self._mark = Watermark(1, PAUSED_UNTIL, near.pause_reading, near.resume_reading)
        self._news = asyncio.Event()
        self._may_write = asyncio.Event()
        self._may_write.set()
        self._tasks = TaskSet()
        self._running = self._tasks.spawn(self._run(), name=f"passage to {destination.name}")
        self._running.add_done_callback(lambda _task: ended(self))

    def frame_received(self, frame: bytes) -> None:
        self._waiting.append(frame)
        self._waiting_bytes += len(frame)
        self._news.set()
        self._choose_reading()

    def pause_writing(self) -> None:
        self._may_write.clear()

    def resume_writing(self) -> None:
        self._may_write.set()

    def connection_lost(self) -> None:
        self._running.cancel()

    async def aclose(self) -> None:
        self._near.drop()
        await self._tasks.aclose()

    async def _run(self) -> None:
        try:
            channel = await self._destination.dial()
        except (OSError, ExecServerError) as exc:
            logger.warning("cannot reach %s: %s", self._destination.name, exc)
            self._destination.dialled(str(exc))
            self._near.drop()
            return
        self._destination.dialled("")
        sending = self._tasks.spawn(self._forward(channel), name=f"messages to {self._destination.name}")
        try:
            while messages := await channel.receive():
                for message in messages:
                    await self._may_write.wait()
                    if isinstance(message, bytes):  # neither kind of channel delivers anything else
                        self._near.send(message)
        finally:
            sending.cancel()
            self._near.drop()
            await channel.aclose()

    async def _forward(self, channel: Channel) -> None:
        while True:
            while self._waiting:
                await channel.drain(OUTGOING_BYTES)
                frame = self._waiting.popleft()
                self._waiting_bytes -= len(frame)
                channel.send(frame)
                self._choose_reading()
            self._news.clear()
            await self._news.wait()

    def _choose_reading(self) -> None:
        self._mark.level(max(len(self._waiting) / MAX_WAITING, self._waiting_bytes / MAX_WAITING_BYTES))
