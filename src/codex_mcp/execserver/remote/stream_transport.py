"""A stream as the transport of one client's connection."""

from __future__ import annotations

import asyncio
import logging
import math
from collections import deque
from collections.abc import Callable, Sequence
from typing import Final

from codex_mcp.execserver.connection import ClientTransport
from codex_mcp.relay.frames import Frame
from codex_mcp.relay.stream import RelayStream
from codex_mcp.relay.stream_driver import StreamDriver
from codex_mcp.rpc.watermark import Watermark
from codex_mcp.transports.websockets.socket import SocketListener

logger = logging.getLogger(__name__)

QUEUE_HIGH: Final = 1024 * 1024
QUEUE_LOW: Final = 256 * 1024
"""Bytes that wait for the harness above which its processes are slowed down, and below which they continue."""

MAX_HELD: Final = 1024
MAX_HELD_BYTES: Final = 64 * 1024 * 1024
"""Requests that arrive while the connection takes none. A harness that sends more loses its stream."""

PROBE_SECONDS: Final = 5.0
"""For a sealed message from a harness whose session another stream wants; frames alone could be the relay's."""


class StreamTransport:
    def __init__(
        self,
        stream: RelayStream,
        write: Callable[[Sequence[bytes]], None],
        accept: Callable[[ClientTransport], SocketListener],
        ended: Callable[[str], None],
    ) -> None:
        """`ended` is called once, with the stream's id."""
        self.peer = f"relay {stream.stream_id}"
        self.write = write
        self.driver = StreamDriver(stream, self)
        self._stream_id = stream.stream_id
        self._ended = ended
        self._is_paused = False
        self._is_held_back = False
        """The socket of all streams has too many unsent bytes."""
        self._held: deque[bytes] = deque()
        self._held_bytes = 0
        self._loop = asyncio.get_running_loop()
        self._probe: asyncio.TimerHandle | None = None
        self._connection = accept(self)
        self._mark = Watermark(QUEUE_HIGH, QUEUE_LOW, self._connection.pause_writing, self._connection.resume_writing)

    def frame_received(self, frame: Frame) -> None:
        self.driver.frame_received(frame)
        self._choose_writing()

    def send(self, *parts: bytes) -> None:
        self.driver.send(b"".join(parts))
        self._choose_writing()

    def hold_back(self, *, is_held_back: bool) -> None:
        """The socket is full, or has room again."""
        self._is_held_back = is_held_back
        self._choose_writing()

    def messages_received(self, messages: Sequence[bytes]) -> None:
        for number, message in enumerate(messages):
            if self._is_paused:
                self._hold(messages[number:])
                return
            self._connection.frame_received(message)

    def stream_ended(self, reason: str) -> None:
        logger.info("%s: ended, %s", self.peer, reason)
        self._held.clear()
        if self._probe is not None:
            self._probe.cancel()
        self._ended(self._stream_id)
        # Later, as from a socket: this may be called from within a call of the connection itself.
        self._loop.call_soon(self._connection.connection_lost)

    def pause_reading(self) -> None:
        self._is_paused = True

    def resume_reading(self) -> None:
        self._is_paused = False
        self._loop.call_soon(self._deliver_held)

    def probe(self) -> None:
        if self._probe is None and not self.driver.is_over:
            self.driver.greet()
            self._probe = self._loop.call_later(PROBE_SECONDS, self._probed, self.driver.opened)

    def drop(self) -> None:
        """End the stream; the harness is told."""
        self.driver.reset("this end closed it")

    def _probed(self, opened: int) -> None:
        self._probe = None
        if self.driver.opened == opened:
            logger.warning("%s: dropped, it showed no sign of life", self.peer)
            self.drop()

    def _hold(self, messages: Sequence[bytes]) -> None:
        self._held += messages
        self._held_bytes += sum(map(len, messages))
        if len(self._held) > MAX_HELD or self._held_bytes > MAX_HELD_BYTES:
            self.driver.reset("the harness sent more requests than can be held")

    def _deliver_held(self) -> None:
        while self._held and not self._is_paused:
            message = self._held.popleft()
            self._held_bytes -= len(message)
            self._connection.frame_received(message)

    def _choose_writing(self) -> None:
        if self.driver.is_over:
            return
        self._mark.level(math.inf if self._is_held_back else self.driver.queued_bytes)
