"""What the endpoints share and their own tests cannot show."""

import asyncio
from typing import Any

import msgspec
import pytest

from codex_mcp.base.tasks import TaskSet
from codex_mcp.mcp.http.endpoint import BODY_TIME, Refusal, accepts, read_message, refusal
from codex_mcp.transports.http import WHOLE_BODY, HttpExchange
from codex_mcp.wire.jsonrpc import INVALID_PARAMS, INVALID_REQUEST, NO_PARAMS, ErrorObject, Request
from tests.support.clock import Clock, run_with_clock

PING_REQUEST = b'{"jsonrpc":"2.0","id":1,"method":"ping"}'


async def never() -> Any:
    """Receive a body that never arrives."""
    await asyncio.Event().wait()


async def ping() -> dict[str, Any]:
    return {"type": "http.request", "body": PING_REQUEST}


async def nowhere(message: Any) -> None:
    """Discard the answer."""


def test_a_body_that_does_not_come_is_waited_for_and_then_no_longer() -> None:
    async def story(clock: Clock) -> None:
        scope = {"method": "POST", "path": "/mcp", "headers": []}
        tasks = TaskSet()
        reading = tasks.spawn(read_message(HttpExchange(scope, never, nowhere), 100), name="reading")
        await clock.advance(BODY_TIME - 1)
        assert not reading.done()
        await clock.advance(2)
        with pytest.raises(Refusal, match="Request Timeout: the body did not arrive in time"):
            await reading

    run_with_clock(story)


@pytest.mark.parametrize("facts", [{}, {WHOLE_BODY: True}])
async def test_a_body_is_read_whether_it_is_known_to_be_here_or_not(facts: dict[str, object]) -> None:
    http = HttpExchange({"method": "POST", "path": "/mcp", "headers": [], **facts}, ping, nowhere)
    assert await read_message(http, len(PING_REQUEST)) == Request(1, "ping", NO_PARAMS)


def test_a_refusal_is_an_error_about_its_request() -> None:
    refused = Refusal(400, ErrorObject(INVALID_PARAMS, "Invalid params: x"), 7, (b"allow", b"POST"))
    assert msgspec.json.decode(refused.body) == {
        "jsonrpc": "2.0",
        "id": 7,
        "error": {"code": INVALID_PARAMS, "message": "Invalid params: x"},
    }
    assert (refused.status, refused.headers, str(refused)) == (400, ((b"allow", b"POST"),), "Invalid params: x")


def test_one_about_http_is_about_no_request() -> None:
    refused = refusal(405, "Method Not Allowed: use POST", (b"allow", b"POST"))
    answer = msgspec.json.decode(refused.body)
    assert (answer["id"], answer["error"]["code"]) == (None, INVALID_REQUEST)


@pytest.mark.parametrize(
    ("accept", "expected"),
    [
        (None, True),
        ("*/*", True),
        ("text/*", True),
        ("text/event-stream", True),
        ("application/json, TEXT/Event-Stream;q=0.5", True),
        ("application/json", False),
        ("", False),
    ],
)
def test_what_a_client_accepts(accept: str | None, *, expected: bool) -> None:
    assert accepts({} if accept is None else {"accept": accept}, "text/event-stream") is expected
