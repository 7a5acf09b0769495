"""frames.py and the checked-in .proto file describe the same bytes: protobuf's own library is asked."""

from pathlib import Path
from typing import Any

from hypothesis import given

from codex_mcp.relay import frames
from codex_mcp.relay.frames import (
    VERSION,
    Ack,
    Data,
    Frame,
    Handshake,
    Heartbeat,
    RecordKind,
    Reset,
    Resume,
    decode,
    encode,
)
from tests.relay.test_frames import frames as any_frame
from tests.support.exec.proto_file import message_types

FILE = Path(frames.__file__).parent / "codex.exec_server.relay.v1.proto"
TYPES = message_types(FILE.read_text(encoding="utf-8"))
BODIES = {
    Data: "data",
    Ack: "ack_frame",
    Resume: "resume",
    Reset: "reset",
    Heartbeat: "heartbeat",
    Handshake: "handshake",
}


def by_protobuf(frame: Frame) -> Any:
    """The frame as a message of protobuf's library."""
    message = TYPES["RelayMessageFrame"](
        version=VERSION, stream_id=frame.stream_id, ack=frame.ack, ack_bits=frame.ack_bits
    )
    body = getattr(message, BODIES[type(frame.body)])
    body.SetInParent()
    for name in frame.body.__struct_fields__:
        setattr(body, name, getattr(frame.body, name))
    return message


@given(any_frame)
def test_our_bytes_are_those_of_protobuf(frame: Frame) -> None:
    assert encode(frame) == by_protobuf(frame).SerializeToString(deterministic=True)


@given(any_frame)
def test_what_protobuf_writes_is_read_and_what_we_write_is_read_by_protobuf(frame: Frame) -> None:
    message = by_protobuf(frame)
    message.traceparent, message.tracestate = "00-1", "a=b"
    assert decode(message.SerializeToString()) == frame
    read = TYPES["RelayMessageFrame"].FromString(encode(frame))
    assert read == by_protobuf(frame)


def test_the_file_has_every_body_and_nothing_else() -> None:
    fields = TYPES["RelayMessageFrame"].DESCRIPTOR.oneofs_by_name["body"].fields
    assert {field.name: field.number for field in fields} == {
        BODIES[kind]: int(RecordKind[kind.__name__.upper()]) for kind in BODIES
    }
