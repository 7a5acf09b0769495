"""A client that is there for one answer is told things on that stream, and cannot be asked."""

import msgspec
import pytest

from codex_mcp.mcp.http.streams.live_stream import LiveStream
from codex_mcp.mcp.http.streams.stream_link import StreamLink
from codex_mcp.rpc.errors import ConnectionLost, request_failed
from codex_mcp.rpc.peer import error_for
from codex_mcp.wire.jsonrpc import INTERNAL_ERROR, INVALID_PARAMS, ErrorObject


def link() -> tuple[StreamLink, LiveStream]:
    stream = LiveStream("r", 10, 1000)
    return StreamLink(stream), stream


async def test_it_is_told_until_it_is_answered() -> None:
    client, stream = link()
    client.notify("note", {"a": 1}, 7)
    stream.put(b"answer", final=True)
    client.notify("late", {}, 7)
    first, second = stream.stream.after(0).messages
    assert msgspec.json.decode(first.frame) == {"jsonrpc": "2.0", "method": "note", "params": {"a": 1}}
    assert second.frame == b"answer"


async def test_a_question_to_it_fails_at_once() -> None:
    client, stream = link()
    pending = client.start("roots/list", {}, 7)
    with pytest.raises(ConnectionLost):
        await pending.answer
    client.forget(pending)
    assert stream.stream.last == 0


def test_an_error_that_was_meant_is_told_as_it_is() -> None:
    assert error_for(request_failed(INVALID_PARAMS, "no"), "echo") == ErrorObject(INVALID_PARAMS, "no")


def test_the_text_of_any_other_stays_here(caplog: pytest.LogCaptureFixture) -> None:
    error = error_for(RuntimeError("the password is xyzzy"), "echo")
    assert error.code == INTERNAL_ERROR
    assert "xyzzy" not in error.message
    assert "xyzzy" in caplog.text
