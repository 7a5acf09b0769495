"""Pure. Relay frames: the protobuf message `codex.exec_server.relay.v1.RelayMessageFrame`, one per binary message.

    1 version = 1   2 stream_id   3 ack   4 ack_bits   11 traceparent   12 tracestate
    5 data {1 seq, 2 segment_index, 3 segment_count, 4 payload}   6 ack {}   7 resume {1 next_seq}
    8 reset {1 reason}   9 heartbeat {}   10 handshake {1 payload}

A relay reads the header (`read_header`); only the two ends read the body (`decode`). Nothing here is authenticated:
whoever carries a frame can change it. The payload of `data` protects itself.
"""

from __future__ import annotations

from collections.abc import Iterator
from enum import IntEnum
from typing import Final, TypeAlias

from msgspec import Struct

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


class Kind(IntEnum):
    """What a frame is for: the field number of its body."""

    DATA = 5
    ACK = 6
    RESUME = 7
    RESET = 8
    HEARTBEAT = 9
    HANDSHAKE = 10


class Header(Struct, frozen=True):
    stream_id: str
    kind: Kind
    body: bytes
    ack: int = 0
    ack_bits: int = 0


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
    numbers = {1: 0, 3: 0, 4: 0}
    stream_id, kind, body = b"", None, b""
    for number, value in _fields(data):
        if isinstance(value, int):
            if number in numbers:
                numbers[number] = _u32(value)
        elif number == 2:
            stream_id = value
        elif Kind.DATA <= number <= Kind.HANDSHAKE:
            kind, body = Kind(number), value
    if numbers[1] != VERSION:
        raise RelayError(f"a frame has version {numbers[1]}, not {VERSION}")
    if kind is None:
        raise RelayError("a frame has no body")
    return Header(_stream_id(stream_id), kind, body, numbers[3], numbers[4])


def decode(data: bytes) -> Frame:
    """Raises RelayError."""
    if len(data) > MAX_FRAME_BYTES:
        raise RelayError(f"a frame has {len(data)} bytes; the limit is {MAX_FRAME_BYTES}")
    header = read_header(data)
    return Frame(header.stream_id, read_body(header), header.ack, header.ack_bits)


def read_body(header: Header) -> Body:
    """Raises RelayError."""
    match header.kind:
        case Kind.DATA:
            return _data(header.body)
        case Kind.ACK:
            return Ack()
        case Kind.RESUME:
            return Resume(_number(header.body, 1))
        case Kind.RESET:
            return Reset(_text(_needed(header.body, "reason")))
        case Kind.HEARTBEAT:
            return Heartbeat()
        case _:
            return Handshake(_needed(header.body, "payload"))


def encode(frame: Frame) -> bytes:
    match frame.body:
        case Data(seq, payload, index, count):
            head = _numbers((1, seq), (2, index), (3, count))
            kind, body = Kind.DATA, head + _tagged(4, payload)
        case Resume(next_seq):
            kind, body = Kind.RESUME, _numbers((1, next_seq))
        case Reset(reason):
            kind, body = Kind.RESET, _tagged(1, reason.encode())
        case Handshake(payload):
            kind, body = Kind.HANDSHAKE, _tagged(1, payload)
        case Ack():
            kind, body = Kind.ACK, b""
        case _:
            kind, body = Kind.HEARTBEAT, b""
    acknowledged = _numbers((3, frame.ack), (4, frame.ack_bits))
    return b"\x08\x01" + _tagged(2, frame.stream_id.encode()) + acknowledged + _tagged(kind, body)


def _data(body: bytes) -> Data:
    numbers = {1: 0, 2: 0, 3: 0}
    payload = b""
    for number, value in _fields(body):
        if isinstance(value, int):
            if number in numbers:
                numbers[number] = _u32(value)
        elif number == 4:
            payload = value
    if not payload:
        raise RelayError("a data frame has no payload")
    if not numbers[2] < numbers[3] <= MAX_SEGMENTS:
        raise RelayError(f"a data frame is segment {numbers[2]} of {numbers[3]}")
    return Data(numbers[1], payload, numbers[2], numbers[3])


def _number(body: bytes, wanted: int) -> int:
    found = 0
    for number, value in _fields(body):
        if number == wanted and isinstance(value, int):
            found = _u32(value)
    return found


def _needed(body: bytes, name: str) -> bytes:
    found = b""
    for number, value in _fields(body):
        if number == 1 and isinstance(value, bytes):
            found = value
    if not found:
        raise RelayError(f"a frame has no {name}")
    return found


def _fields(data: bytes) -> Iterator[tuple[int, int | bytes]]:
    """Number and value of every field. Raises RelayError where it is not protobuf."""
    at, end = 0, len(data)
    while at < end:
        tag, at = _varint(data, at)
        number, kind = tag >> 3, tag & 7
        if number == 0:
            raise RelayError("a frame has a field with number 0")
        if kind == VARINT:
            value, at = _varint(data, at)
            yield number, value
            continue
        if kind == BYTES:
            size, at = _varint(data, at)
        elif kind in (FIXED64, FIXED32):
            size = 8 if kind == FIXED64 else 4
        else:
            raise RelayError(f"a frame has a field of kind {kind}")
        if size > end - at:
            raise RelayError("a frame ends in the middle of a field")
        if kind == BYTES:
            yield number, data[at : at + size]
        at += size


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


def _numbers(*fields: tuple[int, int]) -> bytes:
    """Numbers that are not 0, which is what a missing one means."""
    return b"".join(bytes((number << 3,)) + _encoded(value) for number, value in fields if value)


def _tagged(number: int, value: bytes) -> bytes:
    return bytes(((number << 3) | BYTES,)) + _encoded(len(value)) + value


def _encoded(value: int) -> bytes:
    parts = bytearray()
    while value >= 0x80:
        parts.append((value & 0x7F) | 0x80)
        value >>= 7
    parts.append(value)
    return bytes(parts)
