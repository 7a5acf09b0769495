"""Messages in the log."""

import logging
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from codex_mcp.base.logs import TRACE
from codex_mcp.rpc import codec
from codex_mcp.rpc.watched import LONGEST, watched
from codex_mcp.wire.jsonrpc import ErrorObject
from tests.support.rpc.memory_channel import memory_pair
from tests.support.rpc.reading import receive

CALL = codec.encode_request(7, "tools/call", {"name": "codex"})


@contextmanager
def level(number: int, caplog: pytest.LogCaptureFixture) -> Iterator[None]:
    with caplog.at_level(number, "codex_mcp.rpc.watched"):
        yield


def test_a_channel_that_nobody_reads_about_is_left_as_it_is(caplog: pytest.LogCaptureFixture) -> None:
    left, _right = memory_pair()
    with level(logging.INFO, caplog):
        assert watched(left, "client") is left


async def test_debug_says_which_messages_come_and_go_and_nothing_of_what_they_say(
    caplog: pytest.LogCaptureFixture,
) -> None:
    left, right = memory_pair()
    with level(logging.DEBUG, caplog):
        channel = watched(left, "client")
        right.send(CALL)
        assert await receive(channel) == [CALL]
        channel.send(codec.encode_response(7, {"text": "quiet"}))
        channel.send(codec.encode_notification("codex/event", {"text": "quiet"}))
        channel.send(codec.encode_error("x", ErrorObject(-1, "quiet")))
        right.send(b"not JSON, quiet")
        await receive(channel)
        await channel.drain(1)
        await channel.aclose()
    assert caplog.messages[:4] == [
        "from client: request 7 tools/call",
        "to client: Response 7",
        "to client: notification codex/event",
        "to client: ErrorResponse 'x'",
    ]
    assert caplog.messages[4].startswith("from client: Malformed")
    assert "quiet" not in caplog.text


async def test_trace_says_what_they_say_up_to_a_limit(caplog: pytest.LogCaptureFixture) -> None:
    left, right = memory_pair()
    with level(TRACE, caplog):
        channel = watched(left, "client")
        channel.send(CALL)
        assert await right.receive() == [CALL]
        channel.send(b'"' + b"x" * LONGEST + b'"')
    assert caplog.messages[1] == f"to client: {CALL.decode()}"
    assert caplog.messages[3].endswith(f"x… ({LONGEST + 2} bytes)")


async def test_a_long_method_is_cut(caplog: pytest.LogCaptureFixture) -> None:
    left, _right = memory_pair()
    with level(logging.DEBUG, caplog):
        watched(left, "client").send(codec.encode_notification("m" * 10_000))
    assert len(caplog.messages[0]) < 300


async def test_not_even_trace_shows_the_key_or_the_token_of_the_sign_in(caplog: pytest.LogCaptureFixture) -> None:
    left, right = memory_pair()
    with level(TRACE, caplog):
        channel = watched(left, "client")
        right.send(codec.encode_request(1, "loginApiKey", {"apiKey": "a b c"}))
        # The method in another spelling of JSON is the same method.
        right.send(b'{"jsonrpc":"2.0","id":2,"method":"login\\u0041piKey","params":{"api\\u004bey":"a b c"}}')
        assert len(await receive(channel)) == 2
        channel.send(codec.encode_request(3, "account/login/start", {"type": "apiKey", "apiKey": "a b c"}))
        channel.send(codec.encode_response(4, {"authMethod": "apikey", "authToken": "a b c"}))
    assert [message.partition(": ")[2] for message in caplog.messages] == [
        "request 1 loginApiKey",
        "request 2 loginApiKey",
        "request 3 account/login/start",
        "Response 4",
    ]


@pytest.mark.parametrize(
    "line",
    [
        b'{"jsonrpc":"2.0","id":1,"method":"loginApiKey","params":{"apiKey":"a b c"}',
        b'{"method":"x","params":{"APIKEY":"a b c"',
        b'[{"jsonrpc":"2.0","id":1,"method":"loginApiKey","params":{"apiKey":"a b c"}}]',
        codec.encode_request(1, "LoginApiKey", {"key": "a b c"}),
        codec.encode_request(1, "ACCOUNT/login/start", {"key": "a b c"}),
    ],
)
async def test_not_even_trace_shows_a_key_in_a_sign_in_that_is_written_wrongly(
    caplog: pytest.LogCaptureFixture, line: bytes
) -> None:
    left, right = memory_pair()
    with level(TRACE, caplog):
        right.send(line)
        await receive(watched(left, "client"))
    assert len(caplog.messages) == 1
    assert "a b c" not in caplog.text


async def test_trace_shows_other_lines_that_cannot_be_read(caplog: pytest.LogCaptureFixture) -> None:
    left, right = memory_pair()
    with level(TRACE, caplog):
        right.send(b"not JSON")
        await receive(watched(left, "client"))
    assert caplog.messages[1] == "from client: not JSON"
