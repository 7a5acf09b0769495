"""Carries the messages of one accepted connection to an exec-server that is dialled for it, and back.

The two ends live and die together: when one is lost, the other is closed, and its client resumes its session over the
next one.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable
from typing import Final, Protocol

from msgspec import Struct

from codex_mcp.base.tasks import TaskSet
from codex_mcp.execclient.connection import OUTGOING_BYTES, Dial
from codex_mcp.execclient.errors import ExecServerError
from codex_mcp.rpc.channel import Channel, Frame
from codex_mcp.rpc.inbox import Inbox

logger = logging.getLogger(__name__)

MAX_WAITING: Final = 8 * 1024 * 1024
"""Bytes of messages that wait for the exec-server, above which the client is not read until they have been taken."""


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


class _Back(Struct, frozen=True):
    """Passes on what the exec-server sends."""

    near: Near
    may_write: asyncio.Event

    def frame_received(self, frame: Frame) -> Awaitable[object] | None:
        if isinstance(frame, bytes):  # neither kind of channel delivers anything else
            self.near.send(frame)
        return None if self.may_write.is_set() else self.may_write.wait()

    def connection_lost(self) -> None:
        """The passage ends with the reading."""


class Passage:
    def __init__(self, near: Near, destination: Destination, ended: Callable[[Passage], None]) -> None:
        """`ended` is called once, when nothing of the passage is left."""
        self._near = near
        self._destination = destination
        self._waiting = Inbox(MAX_WAITING, near.pause_reading, near.resume_reading)
        self._may_write = asyncio.Event()
        self._may_write.set()
        self._tasks = TaskSet()
        self._running = self._tasks.spawn(self._run(), name=f"passage to {destination.name}")
        self._running.add_done_callback(lambda _task: ended(self))

    def frame_received(self, frame: bytes) -> None:
        self._waiting.add((frame,))

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
            await channel.read(_Back(self._near, self._may_write))
        finally:
            sending.cancel()
            self._near.drop()
            await channel.aclose()

    async def _forward(self, channel: Channel) -> None:
        while frames := await self._waiting.take():
            for frame in frames:
                await channel.drain(OUTGOING_BYTES)
                channel.send(frame)


class Passages:
    """One for each accepted connection, up to a limit."""

    def __init__(self, destination: Destination, most: int) -> None:
        self._destination = destination
        self._most = most
        self._open: set[Passage] = set()

    def is_full(self) -> bool:
        return len(self._open) >= self._most

    def accept(self, near: Near) -> Passage:
        passage = Passage(near, self._destination, self._open.discard)
        self._open.add(passage)
        return passage

    async def aclose(self) -> None:
        for passage in list(self._open):
            await passage.aclose()
