"""WebSocket connections that we open, as a Channel."""

from __future__ import annotations

import asyncio
import logging
import socket
from collections.abc import Mapping, Sequence
from contextlib import suppress
from functools import partial
from http import HTTPStatus
from typing import Final

import picows
from picows import WSFrame, WSListener, WSMsgType, WSTransport

from codex_mcp.base.futures import Waiters
from codex_mcp.base.printable import foreign
from codex_mcp.rpc.channel import FrameKind
from codex_mcp.rpc.inbox import Inbox
from codex_mcp.transports.connections import FRAGMENT_COST
from codex_mcp.wire.jsonrpc import Id

QUEUE_HIGH: Final = 1024 * 1024
"""Bytes of unread messages above which the socket is not read."""

DIALLED_FRAME_BYTES: Final = 128 * 1024 * 1024
"""Codex's own server sends frames of up to 84 MB."""

DIALLED_MESSAGE_BYTES: Final = 2 * DIALLED_FRAME_BYTES
"""Of a message in any number of frames, with what they cost in memory."""

FRAGMENT_BYTES: Final = 8 * 1024 * 1024
"""Longer messages are sent in pieces: Codex's server takes messages of 64 MiB, but frames of 16 MiB at most."""

PONGS_HIGH: Final = 64 * 1024
"""Unsent bytes above which a ping is not answered: one who sends many and reads nothing must not fill our memory."""

QUICK_ACKNOWLEDGEMENT: Final[int] = getattr(socket, "TCP_QUICKACK", 0)
"""Linux only; 0 elsewhere, and then not used."""


class DialledSocket(WSListener):
    def __init__(self, *, is_binary: bool = False) -> None:
        self._kind = WSMsgType.BINARY if is_binary else WSMsgType.TEXT
        self._socket: WSTransport | None = None
        self._inbox = Inbox(QUEUE_HIGH, self._pause_reading, self._resume_reading)
        self._parts: list[bytes] = []
        self._size = 0
        """Of a message that is not complete, in memory."""
        self._writable = Waiters()
        self._tcp: socket.socket | None = None
        self._lost = False

    def on_ws_connected(self, transport: WSTransport) -> None:
        self._socket = transport
        transport.underlying_transport.set_write_buffer_limits(high=1, low=0)
        if QUICK_ACKNOWLEDGEMENT and self._kind == WSMsgType.TEXT:
            self._tcp = transport.underlying_transport.get_extra_info("socket")

    def on_ws_frame(self, transport: WSTransport, frame: WSFrame) -> None:
        if frame.msg_type in (WSMsgType.TEXT, WSMsgType.BINARY, WSMsgType.CONTINUATION):
            part = frame.get_payload_as_bytes()
            self._parts.append(part)
            self._size += len(part) + FRAGMENT_COST
            if self._size > DIALLED_MESSAGE_BYTES:
                self._parts.clear()
                transport.disconnect()
            elif frame.fin:
                message = self._parts[0] if len(self._parts) == 1 else b"".join(self._parts)
                self._parts, self._size = [], 0
                self._inbox.add((message,))
        elif frame.msg_type == WSMsgType.PING:
            if self.unsent < PONGS_HIGH:
                transport.send_pong(frame.get_payload_as_bytes())
        elif frame.msg_type == WSMsgType.CLOSE:
            transport.send_close(frame.get_close_code())
            transport.disconnect()

    def on_ws_disconnected(self, transport: WSTransport) -> None:
        self._lost = True
        self._inbox.end()
        self._writable.tell()

    def pause_writing(self) -> None:
        """The socket is full; `drain` notices."""

    def resume_writing(self) -> None:
        """The queue is empty."""
        self._writable.tell()

    async def receive(self) -> Sequence[bytes]:
        messages = await self._inbox.take()
        self._acknowledge()
        return messages

    def _pause_reading(self) -> None:
        assert self._socket is not None, "a message came over it"
        self._socket.underlying_transport.pause_reading()

    def _resume_reading(self) -> None:
        if self._socket is not None and not self._lost:
            self._socket.underlying_transport.resume_reading()

    def _acknowledge(self) -> None:
        """Let the kernel acknowledge at once: Codex's server sends no further small message before, which costs 40 ms
        each time. The kernel resets the option, so it is set after every read."""
        if self._tcp is not None and not self._lost:
            with suppress(OSError):
                self._tcp.setsockopt(socket.IPPROTO_TCP, QUICK_ACKNOWLEDGEMENT, 1)

    def send(self, frame: bytes, about: Id | None = None, kind: FrameKind = FrameKind.NOTIFICATION) -> None:
        if self._socket is None or self._lost or self._socket.underlying_transport.is_closing():
            return
        if len(frame) <= FRAGMENT_BYTES:
            self._socket.send(self._kind, frame)
            return
        message = memoryview(frame)
        for start in range(0, len(message), FRAGMENT_BYTES):
            opcode = WSMsgType.CONTINUATION if start else self._kind
            is_last = start + FRAGMENT_BYTES >= len(message)
            self._socket.send(opcode, message[start : start + FRAGMENT_BYTES], is_last)

    @property
    def unsent(self) -> int:
        """Bytes that wait to be sent."""
        return 0 if self._socket is None else self._socket.underlying_transport.get_write_buffer_size()

    async def drain(self, below: int) -> None:
        while self._socket is not None and not self._lost:
            if self.unsent < below:
                return
            await self._writable.wait()

    async def aclose(self) -> None:
        if self._socket is None:
            return
        if not self._lost:
            self._socket.send_close(picows.WSCloseCode.OK)
            self._socket.disconnect()
        # Also if it is lost: the reason, such as a frame that is too long, would otherwise be printed with a traceback.
        with suppress(OSError, picows.WSError):
            await self._socket.wait_disconnected()


class HandshakeRefused(Exception):
    """The other side answered, but not with a WebSocket."""

    def __init__(self, status: HTTPStatus, body: bytes) -> None:
        text = foreign(body.decode(errors="replace").strip())
        super().__init__(f"{status.value} {status.phrase}" + (f": {text}" if text else ""))
        self.status = status
        self.body = body


PING_INTERVAL: Final = 30.0
PONG_PATIENCE: Final = 30.0
"""Seconds, for a socket to a relay. With the two of them a dead one is noticed after a minute, as in Codex."""


async def dial(url: str, headers: Mapping[str, str], timeout: float, *, is_relay: bool = False) -> DialledSocket:
    """Open a WebSocket; one to a relay carries binary messages and is pinged. Raises OSError, HandshakeRefused."""
    try:
        async with asyncio.timeout(timeout):
            _, listener = await picows.ws_connect(
                partial(DialledSocket, is_binary=is_relay),
                url,
                extra_headers=dict(headers),
                max_frame_size=DIALLED_FRAME_BYTES,
                websocket_handshake_timeout=timeout,
                max_redirects=0,
                enable_auto_pong=False,  # it would answer without limit
                enable_auto_ping=is_relay,
                auto_ping_idle_timeout=PING_INTERVAL,
                auto_ping_reply_timeout=PONG_PATIENCE,
                logger_name=logging.getLogger("picows.quiet"),
            )
    except picows.WSInvalidStatusError as exc:
        status = exc.response.status if exc.response is not None else HTTPStatus.BAD_GATEWAY
        raise HandshakeRefused(status, exc.raw_body or b"") from exc
    except picows.WSInvalidURL as exc:
        raise ValueError(f"cannot dial {url}: not a WebSocket URL") from exc
    except picows.WSError as exc:
        raise ConnectionError(f"{url} does not speak WebSocket: {exc}") from exc
    if not isinstance(listener, DialledSocket):
        raise ConnectionError(f"{url} closed the connection instead of answering")
    return listener
