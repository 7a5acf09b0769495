"""Pure. Which frame goes to which socket, by stream id. Only headers are read.

    an end breaks off    both ends acknowledge                    else
    -------------------  ---------------------------------------  ----------------------------
    the harness          its stream is kept for `HELD` seconds    the executor gets a reset
    the executor         its streams are kept for `HELD` seconds  their harnesses get a reset

While an end is away, frames for it are dropped: the ends keep what was not acknowledged, and repeat it. An executor
returns under its registration, a harness with the same principal and key. After a restart of the rendezvous nothing is
known of their streams: one that the executor resumes is kept for the harness that resumes it too.
"""

from __future__ import annotations

from typing import Final, TypeAlias

from msgspec import Struct

from codex_mcp.relay.frames import Frame, Header, RecordKind, Reset, encode, read_header
from codex_mcp.transports.budgets import Budget, Rank, Use

Socket: TypeAlias = int

HELD: Final = 30.0
"""As long as an executor keeps the session of a harness that was cut off."""

MAX_STREAMS: Final = 128
"""Of one executor, which takes no more itself. When all are taken, one is ended as `budgets` says: a stream that the
executor has not answered or whose harness is away counts as idle."""

MAX_SOCKET_STREAMS: Final = 8
"""Of one harness's socket. Codex has one."""

MAX_REFUSED: Final = 8
"""Streams of one harness's socket that its executor has refused; then the socket is closed. A refused handshake costs
the executor more than the harness, and only here is it known whose it was."""

NOT_REACHABLE: Final = "executor_not_connected"
TOO_MANY: Final = "too_many_streams"
UNKNOWN: Final = "unknown_stream"
GONE: Final = "peer_disconnected"


class StreamOwner(Struct, frozen=True):
    """Whose a stream is."""

    principal: str
    fingerprint: str


class _Stream(Struct):
    id: str
    registration_id: str
    owner: StreamOwner | None
    """None: only its executor has returned since the rendezvous was restarted."""
    harness: Socket | None
    is_answered: bool = False
    """The executor has sent something."""
    resumes: int = 0
    harness_acknowledges: bool = False
    executor_acknowledges: bool = False
    held_until: float | None = None


class _Harness(Struct):
    registration_id: str
    owner: StreamOwner
    streams: dict[str, _Stream] = {}
    refused: int = 0


class Outgoing(Struct, frozen=True):
    socket: Socket
    frame: bytes
    is_last: bool = False
    """The socket is closed after it: its executor has refused too many of its streams."""


class Routes:
    def __init__(self) -> None:
        self._executors: dict[str, Socket] = {}
        """By registration."""
        self._harnesses: dict[Socket, _Harness] = {}
        self._streams: dict[str, dict[str, _Stream]] = {}
        """By registration and stream id."""

    def count(self) -> int:
        return sum(map(len, self._streams.values()))

    def counts(self) -> dict[str, int]:
        """Streams by registration."""
        return {registration_id: len(streams) for registration_id, streams in self._streams.items()}

    def executor_socket(self, registration_id: str) -> Socket | None:
        return self._executors.get(registration_id)

    def executor_arrived(self, registration_id: str, socket: Socket) -> None:
        self._executors[registration_id] = socket
        for stream in self._streams.setdefault(registration_id, {}).values():
            if stream.harness is not None:
                stream.held_until = None

    def abandoned(self, registration_id: str) -> list[Outgoing]:
        """Another registration has taken the place of this one: its executor will not return."""
        self._executors.pop(registration_id, None)
        streams = self._streams.pop(registration_id, {})
        sockets = [(stream, stream.harness) for stream in streams.values() if stream.harness is not None]
        for stream, socket in sockets:
            self._harnesses[socket].streams.pop(stream.id, None)
        return [Outgoing(socket, _reset(stream.id, GONE)) for stream, socket in sockets]

    def executor_left(self, registration_id: str, socket: Socket, now: float) -> list[Outgoing]:
        if self._executors.get(registration_id) != socket:
            return []  # it has connected anew already
        del self._executors[registration_id]
        resets: list[Outgoing] = []
        for stream in list(self._streams[registration_id].values()):
            if _can_wait(stream):
                stream.held_until = now + HELD
            else:
                resets += self._end(stream, GONE)
        if not self._streams[registration_id]:
            del self._streams[registration_id]
        return resets

    def harness_arrived(self, socket: Socket, registration_id: str, owner: StreamOwner) -> None:
        self._harnesses[socket] = _Harness(registration_id, owner, {})

    def harness_left(self, socket: Socket, now: float) -> list[Outgoing]:
        harness = self._harnesses.pop(socket)
        resets: list[Outgoing] = []
        for stream in list(harness.streams.values()):
            stream.harness = None
            if _can_wait(stream):
                stream.held_until = now + HELD
            else:
                resets += self._end(stream, GONE)
        return resets

    def from_harness(self, socket: Socket, frame: bytes) -> list[Outgoing]:
        """Raises RelayError for what is not a frame."""
        header = read_header(frame)
        harness = self._harnesses[socket]
        stream: _Stream | str | None = harness.streams.get(header.stream_id)
        resets: list[Outgoing] = []
        if stream is None:
            resets = self._make_room(harness, header)
            stream = self._attached(socket, harness, header)
        if isinstance(stream, str):
            return [] if header.kind is RecordKind.RESET else [Outgoing(socket, _reset(header.stream_id, stream))]
        _note_harness(stream, header)
        executor = self._executors.get(stream.registration_id)
        if header.kind is RecordKind.RESET:
            self._forget(stream)
        return resets if executor is None else [*resets, Outgoing(executor, frame)]

    def from_executor(self, registration_id: str, frame: bytes, now: float) -> list[Outgoing]:
        """Raises RelayError for what is not a frame."""
        header = read_header(frame)
        stream = self._streams.get(registration_id, {}).get(header.stream_id)
        if stream is None:
            return self._unknown_from_executor(registration_id, header, now)
        is_refused = header.kind is RecordKind.RESET and not stream.is_answered
        if not stream.is_answered and stream.harness is not None:
            stream.held_until = None
        stream.is_answered = True
        if header.ack or header.kind in (RecordKind.ACK, RecordKind.RESUME):
            stream.executor_acknowledges = True
        if header.kind is RecordKind.RESET:
            self._forget(stream)
        if stream.harness is None:
            return []
        harness = self._harnesses[stream.harness]
        harness.refused += is_refused
        return [Outgoing(stream.harness, frame, is_refused and harness.refused >= MAX_REFUSED)]

    def _unknown_from_executor(self, registration_id: str, header: Header, now: float) -> list[Outgoing]:
        executor = self._executors.get(registration_id)
        if executor is None or header.kind is RecordKind.RESET:
            return []
        streams = self._streams[registration_id]
        if header.kind is not RecordKind.RESUME or len(streams) >= MAX_STREAMS:
            return [Outgoing(executor, _reset(header.stream_id, UNKNOWN))]
        streams[header.stream_id] = _Stream(
            header.stream_id, registration_id, None, None, executor_acknowledges=True, held_until=now + HELD
        )
        return []

    def expire(self, now: float) -> list[Outgoing]:
        """End the streams whose other end did not return."""
        streams = [stream for streams in self._streams.values() for stream in streams.values()]
        for stream in streams:
            if not stream.is_answered and stream.held_until is None:
                stream.held_until = now + HELD
        late = [stream for stream in streams if stream.held_until is not None and stream.held_until <= now]
        resets = [reset for stream in late for reset in self._end(stream, GONE)]
        for registration_id in [each for each, held in self._streams.items() if not held]:
            if registration_id not in self._executors:
                del self._streams[registration_id]
        return resets

    def _make_room(self, harness: _Harness, header: Header) -> list[Outgoing]:
        """End a stream if all are taken and this harness, or rather its principal, has fewer than others."""
        streams = self._streams.get(harness.registration_id, {})
        is_new = header.stream_id not in streams and header.kind in (RecordKind.RESUME, RecordKind.HANDSHAKE)
        if len(streams) < MAX_STREAMS or not is_new or len(harness.streams) >= MAX_SOCKET_STREAMS:
            return []
        budget: Budget[str] = Budget(MAX_STREAMS)
        for stream in streams.values():
            budget.hold(stream.id, "" if stream.owner is None else stream.owner.principal)
        budget.hold(header.stream_id, harness.owner.principal)
        gone = streams.get(budget.to_go(header.stream_id, lambda each: _use(streams.get(each))) or "")
        return [] if gone is None else self._end(gone, TOO_MANY)

    def _attached(self, socket: Socket, harness: _Harness, header: Header) -> _Stream | str:
        """The stream of a harness that uses this id for the first time on this socket, or why it has none."""
        if len(harness.streams) >= MAX_SOCKET_STREAMS:
            return TOO_MANY
        streams = self._streams.get(harness.registration_id, {})
        stream = streams.get(header.stream_id)
        if stream is not None:
            if stream.owner is None and header.kind is RecordKind.RESUME:
                stream.owner = harness.owner
            if stream.owner != harness.owner:
                return UNKNOWN
            if stream.harness is not None:
                self._harnesses[stream.harness].streams.pop(stream.id)
            stream.harness = socket
            if harness.registration_id in self._executors:
                stream.held_until = None
        elif header.kind not in (RecordKind.RESUME, RecordKind.HANDSHAKE):
            return UNKNOWN
        elif harness.registration_id not in self._executors:
            return NOT_REACHABLE
        elif len(streams) >= MAX_STREAMS:
            return TOO_MANY
        else:
            stream = streams[header.stream_id] = _Stream(
                header.stream_id, harness.registration_id, harness.owner, socket
            )
        harness.streams[header.stream_id] = stream
        return stream

    def _end(self, stream: _Stream, reason: str) -> list[Outgoing]:
        """Forget a stream, and tell the ends that are there."""
        self._forget(stream)
        ends = (stream.harness, self._executors.get(stream.registration_id))
        return [Outgoing(socket, _reset(stream.id, reason)) for socket in ends if socket is not None]

    def _forget(self, stream: _Stream) -> None:
        self._streams[stream.registration_id].pop(stream.id, None)
        if stream.harness is not None and stream.harness in self._harnesses:
            self._harnesses[stream.harness].streams.pop(stream.id, None)


def _use(stream: _Stream | None) -> Use:
    is_idle = stream is not None and (not stream.is_answered or stream.harness is None)
    return Use(Rank.IDLE if is_idle else Rank.BUSY)


def _can_wait(stream: _Stream) -> bool:
    return stream.harness_acknowledges and stream.executor_acknowledges


def _note_harness(stream: _Stream, header: Header) -> None:
    """Codex's harness sends one `resume`, before its handshake, and never acknowledges."""
    stream.resumes += header.kind is RecordKind.RESUME
    if header.ack or header.kind is RecordKind.ACK or stream.resumes > 1:
        stream.harness_acknowledges = True


def _reset(stream_id: str, reason: str) -> bytes:
    return encode(Frame(stream_id, Reset(reason)))
