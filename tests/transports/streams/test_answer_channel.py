"""A stateless request has a peer of its own, whose channel brings one request and takes one answer."""

import msgspec
import pytest

from codex_mcp.rpc.channel import FrameKind
from codex_mcp.rpc.errors import ConnectionLost, request_failed
from codex_mcp.rpc.peer import Handlers, Peer, PendingCall, RequestHandler, error_for
from codex_mcp.transports.streams.answer_channel import AnswerChannel
from codex_mcp.transports.streams.live_stream import Delivery
from codex_mcp.wire.jsonrpc import INTERNAL_ERROR, INVALID_PARAMS, ErrorObject, Request
from tests.support.servers.mcp_session import no_hurry

REQUEST = Request(7, "echo", msgspec.Raw(b"{}"))


def served(handler: RequestHandler) -> tuple[Peer, AnswerChannel]:
    channel = AnswerChannel(REQUEST, Delivery())
    return Peer(channel, Handlers(handler, lambda note: None), max_requests=1, pace=no_hurry), channel


def on_stream(channel: AnswerChannel) -> list[object]:
    return [msgspec.json.decode(message.frame) for message in channel.stream.ring.after(0).messages]


async def test_an_answer_that_comes_at_once_is_there_when_the_request_was_read() -> None:
    peer, channel = served(lambda request: {"ok": request.id})
    await peer.run()
    assert msgspec.json.decode(channel.answer) == {"jsonrpc": "2.0", "id": 7, "result": {"ok": 7}}


async def test_a_later_answer_ends_the_stream() -> None:
    async def later() -> object:
        peer.notify("note", {"a": 1}, 7)
        return {}

    peer, channel = served(lambda request: later())
    await peer.run()
    assert channel.answer == b""
    while not channel.stream.ended:
        await channel.stream.take(channel.stream.ring.last)
    peer.notify("late", {}, 7)
    assert on_stream(channel) == [
        {"jsonrpc": "2.0", "method": "note", "params": {"a": 1}},
        {"jsonrpc": "2.0", "id": 7, "result": {}},
    ]


async def test_what_is_said_before_an_answer_at_once_is_on_the_stream_as_well() -> None:
    def answer(request: Request) -> object:
        peer.notify("note", {}, request.id)
        return {}

    peer, channel = served(answer)
    await peer.run()
    assert channel.answer == b""
    assert channel.stream.ended
    assert len(on_stream(channel)) == 2


async def test_nothing_follows_an_answer_at_once() -> None:
    channel = AnswerChannel(REQUEST, Delivery())
    channel.send(b"answer", 7, FrameKind.ANSWER)
    channel.send(b"late", 7)
    assert channel.answer == b"answer"
    assert on_stream(channel) == []


async def test_the_client_cannot_be_asked() -> None:
    async def later() -> object:
        await peer.start("roots/list", {}, 7).answer
        return {}

    def asks(request: Request) -> object:
        pending.append(peer.start("roots/list", {}, 7))
        return later()

    pending: list[PendingCall] = []
    peer, channel = served(asks)
    await peer.run()
    with pytest.raises(ConnectionLost):
        await pending[0].answer
    while not channel.stream.ended:
        await channel.stream.take(channel.stream.ring.last)
    (answer,) = on_stream(channel)
    assert isinstance(answer, dict)
    assert answer["error"]["code"] == INTERNAL_ERROR


async def test_a_channel_that_is_closed_ends_a_stream_without_an_answer() -> None:
    channel = AnswerChannel(REQUEST, Delivery())
    assert not channel.stream.ended
    await channel.aclose()
    await channel.aclose()
    assert channel.stream.ended


def test_an_error_that_was_meant_is_told_as_it_is() -> None:
    assert error_for(request_failed(INVALID_PARAMS, "no"), "echo") == ErrorObject(INVALID_PARAMS, "no")


def test_the_text_of_any_other_stays_here(caplog: pytest.LogCaptureFixture) -> None:
    error = error_for(RuntimeError("the password is xyzzy"), "echo")
    assert error.code == INTERNAL_ERROR
    assert "xyzzy" not in error.message
    assert "xyzzy" in caplog.text
