"""Pure. Relay frames: the protobuf message `codex.exec_server.relay.v1.RelayMessageFrame`, one per binary message.

    1 version = 1   2 stream_id   3 ack   4 ack_bits   11 traceparent   12 tracestate
    5 data {1 seq, 2 segment_index, 3 segment_count, 4 payload}   6 ack {}   7 resume {1 next_seq}
    8 reset {1 reason}   9 heartbeat {}   10 handshake {1 payload}

A relay reads the header (`read_header`); only the two ends read the body (`decode`). Nothing here is authenticated:
whoever carries a frame can change it. The payload of `data` protects itself.
"""

from __future__ import annotations

from enum import IntEnum
from typing import Final, TypeAlias

from msgspec import Struct

from codex_mcp.base.printable import foreign
from codex_mcp.relay.errors import RelayError

VERSION: Final = 1

MAX_FRAME_BYTES: Final = 256 * 1024
"""The largest binary message on a relay socket, as in Codex."""

MAX_STREAM_ID: Final = 128
"""Bytes. Harnesses use a UUID, which has 36."""

MAX_SEGMENTS: Final = 64
"""Of one record. A record has 60 KiB, so smaller segments would be pointless; and the window is as large."""

MAX_U32: Final = 2**32 - 1

VARINT: Final = 0
FIXED64: Final = 1
BYTES: Final = 2
FIXED32: Final = 5

LONGEST_VARINT: Final = 10


class RecordKind(IntEnum):
    """What a frame is for: the field number of its body."""

    DATA = 5
    ACK = 6
    RESUME = 7
    RESET = 8
    HEARTBEAT = 9
    HANDSHAKE = 10


KINDS: Final = {int(kind): kind for kind in RecordKind}


class Header(Struct, frozen=True):
    stream_id: str
    kind: RecordKind
    raw: bytes
    """The whole frame."""
    start: int
    end: int
    """Where its body is."""
    ack: int = 0
    ack_bits: int = 0

    @property
    def body(self) -> bytes:
        return self.raw[self.start : self.end]


class Data(Struct, frozen=True):
    seq: int
    payload: bytes
    segment_index: int = 0
    segment_count: int = 1


class Ack(Struct, frozen=True):
    """Says nothing besides the acknowledgement that every frame carries."""


class Resume(Struct, frozen=True):
    next_seq: int


class Reset(Struct, frozen=True):
    reason: str

    @property
    def told(self) -> str:
        """The reason as it can be shown: any relay can write one."""
        return foreign(self.reason, 200)


class Heartbeat(Struct, frozen=True):
    """Keeps a connection open."""


class Handshake(Struct, frozen=True):
    payload: bytes


Body: TypeAlias = Data | Ack | Resume | Reset | Heartbeat | Handshake


class Frame(Struct, frozen=True):
    stream_id: str
    body: Body
    ack: int = 0
    ack_bits: int = 0


def read_header(data: bytes) -> Header:
    """The part of a frame that a relay may look at. Raises RelayError."""
    version = ack = bits = start = end = 0
    stream_id, kind = b"", None
    for number, value, beyond in _fields(data):
        if beyond:
            if number == 2:
                stream_id = data[value:beyond]
            elif number in KINDS:
                kind, start, end = KINDS[number], value, beyond
        elif number == 1:
            version = value
        elif number == 3:
            ack = _u32(value)
        elif number == 4:
            bits = _u32(value)
    if version != VERSION:
        raise RelayError(f"a frame has version {version}, not {VERSION}")
    if kind is None:
        raise RelayError("a frame has no body")
    return Header(_stream_id(stream_id), kind, data, start, end, ack, bits)


def decode(data: bytes) -> Frame:
    """Raises RelayError."""
    if len(data) > MAX_FRAME_BYTES:
        raise RelayError(f"a frame has {len(data)} bytes; the limit is {MAX_FRAME_BYTES}")
    header = read_header(data)
    return Frame(header.stream_id, read_body(header), header.ack, header.ack_bits)


def read_body(header: Header) -> Body:
    """Raises RelayError."""
    match header.kind:
        case RecordKind.DATA:
            return _data(header.body)
        case RecordKind.ACK:
            return Ack()
        case RecordKind.RESUME:
            return Resume(_first_number(header.body))
        case RecordKind.RESET:
            return Reset(_text(_needed(header.body, "reason")))
        case RecordKind.HEARTBEAT:
            return Heartbeat()
        case _:
            return Handshake(_needed(header.body, "payload"))


def encode(frame: Frame) -> bytes:
    payload = b""
    match frame.body:
        case Data(seq, payload, index, count):
            kind = RecordKind.DATA
            head = _number(0x08, seq) + _number(0x10, index) + _number(0x18, count) + _head(4, len(payload))
        case Resume(next_seq):
            kind, head = RecordKind.RESUME, _number(0x08, next_seq)
        case Reset(reason):
            payload = reason.encode()
            kind, head = RecordKind.RESET, _head(1, len(payload))
        case Handshake(payload):
            kind, head = RecordKind.HANDSHAKE, _head(1, len(payload))
        case Ack():
            kind, head = RecordKind.ACK, b""
        case _:
            kind, head = RecordKind.HEARTBEAT, b""
    stream_id = frame.stream_id.encode()
    acknowledged = _number(0x18, frame.ack) + _number(0x20, frame.ack_bits)
    start = b"\x08\x01" + _head(2, len(stream_id)) + stream_id + acknowledged
    return b"".join((start, _head(kind, len(head) + len(payload)), head, payload))  # one copy of a large payload


def _data(body: bytes) -> Data:
    seq = index = count = 0
    payload = b""
    for number, value, beyond in _fields(body):
        if beyond:
            if number == 4:
                payload = body[value:beyond]
        elif number == 1:
            seq = _u32(value)
        elif number == 2:
            index = _u32(value)
        elif number == 3:
            count = _u32(value)
    if not payload:
        raise RelayError("a data frame has no payload")
    if not index < count <= MAX_SEGMENTS:
        raise RelayError(f"a data frame is segment {index} of {count}")
    return Data(seq, payload, index, count)


def _first_number(body: bytes) -> int:
    found = 0
    for number, value, beyond in _fields(body):
        if number == 1 and not beyond:
            found = _u32(value)
    return found


def _needed(body: bytes, name: str) -> bytes:
    found = b""
    for number, value, beyond in _fields(body):
        if number == 1 and beyond:
            found = body[value:beyond]
    if not found:
        raise RelayError(f"a frame has no {name}")
    return found


def _fields(data: bytes) -> list[tuple[int, int, int]]:
    """The number of every field, with its value and 0, or with its first byte and the one beyond its last.

    Raises RelayError where it is not protobuf.
    """
    fields: list[tuple[int, int, int]] = []
    at, end = 0, len(data)
    while at < end:
        # Nearly all numbers have one byte, and a call for each of them would take longest here.
        tag, at = (data[at], at + 1) if data[at] < 0x80 else _varint(data, at)
        number, kind = tag >> 3, tag & 7
        if number == 0:
            raise RelayError("a frame has a field with number 0")
        if kind in (VARINT, BYTES):
            size, at = (data[at], at + 1) if at < end and data[at] < 0x80 else _varint(data, at)
            if kind == VARINT:
                fields.append((number, size, 0))
                continue
        elif kind in (FIXED64, FIXED32):
            size = 8 if kind == FIXED64 else 4
        else:
            raise RelayError(f"a frame has a field of kind {kind}")
        if size > end - at:
            raise RelayError("a frame ends in the middle of a field")
        if kind == BYTES:
            fields.append((number, at, at + size))
        at += size
    return fields


def _varint(data: bytes, at: int) -> tuple[int, int]:
    value = 0
    for shift in range(LONGEST_VARINT):
        if at >= len(data):
            raise RelayError("a frame ends in the middle of a number")
        byte = data[at]
        at += 1
        value |= (byte & 0x7F) << (7 * shift)
        if byte < 0x80:
            return value, at
    raise RelayError("a frame has a number that is too long")


def _u32(value: int) -> int:
    if value > MAX_U32:
        raise RelayError("a frame has a number beyond 32 bits")
    return value


def _stream_id(raw: bytes) -> str:
    if len(raw) > MAX_STREAM_ID:
        raise RelayError(f"a stream id has {len(raw)} bytes; the limit is {MAX_STREAM_ID}")
    text = _text(raw)
    if not text.strip():
        raise RelayError("a frame has no stream id")
    return text


def _text(raw: bytes) -> str:
    try:
        return raw.decode()
    except UnicodeDecodeError as exc:
        raise RelayError("a frame has text that is not UTF-8") from exc


def _number(tag: int, value: int) -> bytes:
    """Nothing for 0, which is what a missing number means."""
    if value < 0x80:
        return bytes((tag, value)) if value else b""
    return bytes((tag,)) + _encoded(value)


def _head(number: int, size: int) -> bytes:
    """What stands before a field of so many bytes."""
    return bytes(((number << 3) | BYTES,)) + _encoded(size)


def _encoded(value: int) -> bytes:
    if value < 0x80:
        return bytes((value,))
    parts = bytearray()
    while value >= 0x80:
        parts.append((value & 0x7F) | 0x80)
        value >>= 7
    parts.append(value)
    return bytes(parts)
