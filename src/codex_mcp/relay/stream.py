"""Pure. One stream between a harness and an executor: whole messages in order, over frames that may get lost.

The caller sends the frames that each call returns, and calls `due` at `next_due`. An error ends the stream: the caller
sends a reset, even if it received one, and forgets the stream.

Every frame says what has arrived (`ack`, `ack_bits`). What was sent is kept and repeated only for a peer that does the
same (`retention`). A `resume` after the handshake tells it so, and an `ack` frame means that at least frame 0 is here.
Codex 0.166.0 ignores all of this.
"""

from __future__ import annotations

from collections import deque
from typing import Final

from msgspec import Struct

from codex_mcp.relay.errors import PROTOCOL_ERROR, RelayError, StreamReset
from codex_mcp.relay.frames import MAX_U32, Ack, Body, Data, Frame, Reset, Resume, encode
from codex_mcp.relay.handshake import Ciphers
from codex_mcp.relay.records import RecordReader, records
from codex_mcp.relay.reordering import Reordering
from codex_mcp.relay.retention import GAP_RETRY, GIVE_UP, Retention

ACK_FRAMES: Final = 8
ACK_BYTES: Final = 256 * 1024
"""So many frames or bytes are acknowledged at once: a quarter of the window at most, so that the sender never waits."""

ACK_SECONDS: Final = 0.05
"""Anything less is acknowledged after this time, unless a frame of ours goes the other way."""


class Arrived(Struct, frozen=True):
    messages: list[bytes]
    frames: list[bytes]
    """To be sent."""


class RelayStream:
    def __init__(self, stream_id: str, ciphers: Ciphers) -> None:
        self.stream_id = stream_id
        self._sending = ciphers.sending
        self._reader = RecordReader(ciphers.receiving)
        self._order = Reordering()
        self._retention = Retention()
        self._queue: deque[bytes] = deque()
        self.queued_bytes = 0
        """Plain bytes that wait for the other side's acknowledgements. The caller keeps this small."""
        self.opened = 0
        """Records of the other side that were authentic."""
        self._next_seq = 0
        self._unsaid_frames = 0
        self._unsaid_bytes = 0
        self._ack_at: float | None = None
        self._gap_at: float | None = None

    @property
    def can_resume(self) -> bool:
        """Whether the stream can continue after a connection broke: both sides keep what is not acknowledged."""
        return self._retention.is_acknowledged

    def greeting(self) -> bytes:
        """The first frame after the handshake: it tells the other side that we acknowledge."""
        return self._encoded(Resume(self._next_seq))

    def send(self, message: bytes, now: float) -> list[bytes]:
        """Raises RelayError."""
        for record in records(message):
            self._queue.append(record)
            self.queued_bytes += len(record)
        return self._pump(now)

    def frame_received(self, frame: Frame, now: float) -> Arrived:
        """Raises RelayError."""
        body = frame.body
        if isinstance(body, Reset):
            raise StreamReset(f"the other side ended the stream: {body.told}")
        self._retention.acknowledged(frame.ack, frame.ack_bits, now, first_too=isinstance(body, Ack))
        frames = [self._encoded(data) for data in self._retention.missing(frame.ack, frame.ack_bits, now)]
        messages: list[bytes] = []
        match body:
            case Data():
                messages = self._data_received(body, now)
                frames += self._acknowledge_if_needed(now)
            case Resume():
                frames += self._resume_received(now)
            case _:
                pass  # a second handshake is an echo: the first one made the keys
        return Arrived(messages, frames + self._pump(now))

    def resumed(self, now: float) -> list[bytes]:
        """What to send first over a new connection."""
        return [self.greeting(), *self._repeated(now, 0.0)]

    @property
    def next_due(self) -> float | None:
        gap = None if self._gap_at is None else self._gap_at + GIVE_UP
        times = [time for time in (self._ack_at, self._retention.next_due, gap) if time is not None]
        return min(times, default=None)

    def due(self, now: float) -> list[bytes]:
        """What to send because time has passed. Raises RelayError when the stream must be given up."""
        if self._gap_at is not None and now >= self._gap_at + GIVE_UP:
            raise RelayError(f"frame {self._order.next_seq} has been missing for {GIVE_UP:.0f} seconds")
        frames = [self._encoded(data) for data in self._retention.due(now)]
        if self._ack_at is not None and now >= self._ack_at:
            frames.append(self._encoded(Ack()))
        return frames

    def _data_received(self, data: Data, now: float) -> list[bytes]:
        expected = self._order.next_seq
        payloads = self._order.received(data)
        messages = [message for payload in payloads for message in self._reader.opened(payload)]
        self.opened += len(payloads)
        if not self._order.has_gap:
            self._gap_at = None
        elif self._gap_at is None or self._order.next_seq != expected:
            self._gap_at = now
        self._unsaid_frames += 1
        self._unsaid_bytes += len(data.payload)
        if self._order.has_gap or self._order.next_seq == expected:  # a gap or a double: say at once what is here
            self._unsaid_frames = ACK_FRAMES
        return messages

    def _acknowledge_if_needed(self, now: float) -> list[bytes]:
        if not self.can_resume or self._order.next_seq == 0:
            return []  # as in `_repeated`
        if self._unsaid_frames >= ACK_FRAMES or self._unsaid_bytes >= ACK_BYTES:
            return [self._encoded(Ack())]
        if self._ack_at is None:
            self._ack_at = now + ACK_SECONDS
        return []

    def _resume_received(self, now: float) -> list[bytes]:
        # Our own greeting may have been lost; we send it once more, the first time we hear of theirs.
        again = [] if self.can_resume else [self.greeting()]
        self._retention.peer_acknowledges()
        return again + self._repeated(now, GAP_RETRY)

    def _repeated(self, now: float, least_age: float) -> list[bytes]:
        frames = [self._encoded(data) for data in self._retention.everything(now, least_age)]
        # Before anything has arrived, an `ack` frame would claim that frame 0 has.
        return frames or ([self._encoded(Ack())] if self._order.next_seq else [])

    def _pump(self, now: float) -> list[bytes]:
        frames: list[bytes] = []
        while self._queue and self._retention.has_room(len(self._queue[0])):
            if self._next_seq >= MAX_U32:
                raise RelayError("the sequence of frames is used up")
            record = self._queue.popleft()
            self.queued_bytes -= len(record)
            data = Data(self._next_seq, self._sending.encrypt(record))
            self._next_seq += 1
            self._retention.sent(data, now)
            frames.append(self._encoded(data))
        return frames

    def _encoded(self, body: Body) -> bytes:
        """Every frame carries the acknowledgement, so none is due after it."""
        self._unsaid_frames = self._unsaid_bytes = 0
        self._ack_at = None
        ack, bits = self._order.acknowledgement()
        return encode(Frame(self.stream_id, body, ack, bits))


def reset_frame(stream_id: str) -> bytes:
    return encode(Frame(stream_id, Reset(PROTOCOL_ERROR)))
