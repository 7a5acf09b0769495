"""The streams of an executor: answers handshakes, after asking the registry, and distributes frames."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from typing import Final

from msgspec import Struct

from codex_mcp.base.tasks import TaskSet
from codex_mcp.execserver.connection import StreamServer
from codex_mcp.execserver.remote.stream_transport import StreamTransport
from codex_mcp.relay.admission import StreamAdmission, StreamVerdict
from codex_mcp.relay.errors import RelayError
from codex_mcp.relay.frames import Data, Frame, Handshake, Reset, Resume, decode, encode
from codex_mcp.relay.handshake import Introduction, Place, Responder
from codex_mcp.relay.identity import fresh
from codex_mcp.relay.keys import PrivateKeys
from codex_mcp.relay.registry_client import RegistryClient, RegistryRefused
from codex_mcp.relay.stream import RelayStream, reset_frame
from codex_mcp.transports.websockets.dialled import DialledSocket

logger = logging.getLogger(__name__)

SOCKET_HIGH: Final = 4 * 1024 * 1024
SOCKET_LOW: Final = 1024 * 1024
"""Unsent bytes of the socket above which all streams are slowed down, and below which they continue."""


class Identity(Struct, frozen=True):
    """As whom the executor is registered."""

    keys: PrivateKeys
    environment_id: str
    registration_id: str


class Streams:
    def __init__(self, server: StreamServer, registry: RegistryClient) -> None:
        self._server = server
        self._registry = registry
        self._identity: Identity | None = None
        self._socket: DialledSocket | None = None
        self._streams: dict[str, StreamTransport] = {}
        self._untold: list[str] = []
        """Streams that ended while there was no connection; their harnesses must still learn it."""
        self._admission = StreamAdmission()
        self._is_held_back = False
        self._tasks = TaskSet()

    def __len__(self) -> int:
        return len(self._streams)

    def connected(self, socket: DialledSocket, identity: Identity) -> None:
        """Continue on this connection. Streams of an earlier registration end."""
        is_same = self._identity == identity
        self._socket, self._identity = socket, identity
        self._write([reset_frame(stream_id) for stream_id in self._untold])
        self._untold.clear()
        for transport in list(self._streams.values()):
            if is_same:
                transport.driver.connection_resumed()
            else:
                transport.driver.end("the executor has registered anew")

    def connection_lost(self) -> None:
        self._socket = None
        for transport in list(self._streams.values()):
            transport.driver.connection_lost()

    async def aclose(self) -> None:
        for transport in list(self._streams.values()):
            transport.driver.reset("the executor stops")
        await self._tasks.aclose()

    def frame_received(self, raw: bytes) -> None:
        try:
            frame = decode(raw)
        except RelayError as exc:
            logger.debug("dropped what is not a frame: %s", exc)
            return
        transport = self._streams.get(frame.stream_id)
        if transport is not None:
            transport.frame_received(frame)
        elif isinstance(frame.body, Handshake):
            self._handshake_received(frame.stream_id, frame.body.payload)
        elif isinstance(frame.body, Reset):
            if self._admission.ended(frame.stream_id):  # its harness is still being asked about
                self._write([reset_frame(frame.stream_id)])
        elif isinstance(frame.body, Data) or (isinstance(frame.body, Resume) and frame.body.next_seq):
            self._write([reset_frame(frame.stream_id)])  # of a stream that is over here

    def _handshake_received(self, stream_id: str, first: bytes) -> None:
        assert self._identity is not None, "frames come over a connection"
        verdict = self._admission.handshake_received(stream_id)
        if verdict is StreamVerdict.ECHO:
            return
        if verdict is not StreamVerdict.ACCEPTED or self._server.is_full():
            logger.warning("relay %s: refused a handshake (%s)", stream_id, verdict)
            self._admission.ended(stream_id)
            self._write([reset_frame(stream_id)])
            return
        identity = self._identity
        responder = Responder(identity.keys, Place(identity.environment_id, identity.registration_id, stream_id))
        try:
            introduction = responder.read(first)
        except RelayError as exc:
            self._refuse(stream_id, str(exc))
            return
        self._tasks.spawn(self._admit(stream_id, identity, responder, introduction), name=f"handshake {stream_id}")

    async def _admit(
        self, stream_id: str, identity: Identity, responder: Responder, introduction: Introduction
    ) -> None:
        try:
            is_valid = await self._registry.validate(
                identity.environment_id, identity.registration_id, introduction.harness, introduction.authorization
            )
            if not is_valid:
                raise RelayError("the registry does not know this harness")
            second, ciphers = responder.answer(fresh(responder, introduction))
        except (RelayError, RegistryRefused, OSError) as exc:
            self._refuse(stream_id, str(exc))
            return
        if self._socket is None or self._identity != identity:
            self._admission.ended(stream_id)
            return
        if not self._admission.validated(stream_id):
            return  # a reset came in the meantime
        self._write([encode(Frame(stream_id, Handshake(second)))])
        stream = RelayStream(stream_id, ciphers)
        transport = StreamTransport(stream, self._write, self._server.accept, self._ended)
        self._streams[stream_id] = transport
        logger.info("%s: opened by %s", transport.peer, introduction.harness.fingerprint)
        transport.driver.greet()

    def _refuse(self, stream_id: str, why: str) -> None:
        logger.warning("relay %s: refused a handshake: %s", stream_id, why)
        self._admission.ended(stream_id)
        self._write([reset_frame(stream_id)])

    def _ended(self, stream_id: str) -> None:
        del self._streams[stream_id]
        self._admission.ended(stream_id)
        if self._socket is None:
            self._untold.append(stream_id)

    def _write(self, frames: Sequence[bytes]) -> None:
        if self._socket is None:
            return
        for frame in frames:
            self._socket.send(frame)
        if not self._is_held_back and self._socket.unsent > SOCKET_HIGH:
            self._tasks.spawn(self._hold_back(self._socket), name="relay socket is full")

    async def _hold_back(self, socket: DialledSocket) -> None:
        self._is_held_back = True
        for transport in list(self._streams.values()):
            transport.hold_back(is_held_back=True)
        await socket.drain(SOCKET_LOW)
        self._is_held_back = False
        for transport in list(self._streams.values()):
            transport.hold_back(is_held_back=False)
