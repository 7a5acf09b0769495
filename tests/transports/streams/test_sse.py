"""A message becomes one server-sent event, with an id if its stream can be resumed."""

from hypothesis import given
from hypothesis import strategies as st

from codex_mcp.rpc.codec import encode_notification
from codex_mcp.transports.streams.sse import PING, priming, sse_event
from tests.support.json_values import JSON_VALUES


def fields(block: bytes) -> dict[str, str]:
    assert block.endswith(b"\n\n")
    lines = block.decode().removesuffix("\n\n").split("\n")
    return {name: value.removeprefix(" ") for name, _, value in (line.partition(":") for line in lines)}


@given(JSON_VALUES, st.from_regex(r"\A[a-z0-9-]{1,20}\Z"), st.integers(min_value=1))
def test_a_message_is_one_event_whatever_it_says(value: object, stream: str, number: int) -> None:
    frame = encode_notification("note", {"value": value})
    assert fields(sse_event(frame)) == {"event": "message", "data": frame.decode()}
    numbered = sse_event(frame, stream.encode(), number)
    assert fields(numbered) == {"id": f"{stream}:{number}", "event": "message", "data": frame.decode()}


def test_a_stream_that_can_be_resumed_begins_with_an_id_and_no_message() -> None:
    assert fields(priming(b"s", 0, 1000)) == {"id": "s:0", "retry": "1000", "data": ""}


def test_a_sign_of_life_is_a_comment() -> None:
    assert PING.startswith(b":")
    assert PING.endswith(b"\n\n")
