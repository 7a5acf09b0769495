"""One request as ASGI brings it, and its answer."""

import asyncio
from collections.abc import MutableMapping
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from codex_mcp.base.tasks import TaskSet
from codex_mcp.transports.http import BodyTooLarge, Disconnected, HttpExchange, header_map
from tests.support.patience import PATIENCE


class Asgi:
    """A server's side of it: what it will bring, and what it was sent."""

    def __init__(self, *brings: MutableMapping[str, Any], headers: dict[str, str] | None = None) -> None:
        self.sent: list[MutableMapping[str, Any]] = []
        self._brings = list(brings)
        raw = [(name.encode(), value.encode()) for name, value in (headers or {}).items()]
        scope = {"method": "POST", "path": "/mcp", "headers": raw, "client": ("127.0.0.1", 1)}
        self.exchange = HttpExchange(scope, self._receive, self._send)

    async def _receive(self) -> MutableMapping[str, Any]:
        return self._brings.pop(0)

    async def _send(self, message: MutableMapping[str, Any]) -> None:
        self.sent.append(message)


def part(body: bytes, *, more: bool = False) -> dict[str, Any]:
    return {"type": "http.request", "body": body, "more_body": more}


GONE: dict[str, Any] = {"type": "http.disconnect"}


async def test_a_body_is_put_together_from_its_parts() -> None:
    asgi = Asgi(part(b"a", more=True), part(b"", more=True), part(b"b"))
    assert await asgi.exchange.read_body(2) == b"ab"


async def test_a_body_that_is_too_large_is_not_read_to_its_end() -> None:
    with pytest.raises(BodyTooLarge):
        await Asgi(part(b"abc", more=True)).exchange.read_body(2)
    with pytest.raises(BodyTooLarge):
        await Asgi(headers={"content-length": "3"}).exchange.read_body(2)


async def test_whoever_goes_in_the_middle_is_gone() -> None:
    with pytest.raises(Disconnected):
        await Asgi(part(b"a", more=True), GONE).exchange.read_body(9)


async def test_waiting_for_the_end_of_a_client_ends_with_it() -> None:
    async with asyncio.timeout(PATIENCE):
        await Asgi(part(b""), GONE).exchange.disconnected(TaskSet())


async def test_an_answer_has_its_length_and_whatever_headers_it_was_given() -> None:
    asgi = Asgi()
    asgi.exchange.extra_headers.append((b"x-extra", b"1"))
    await asgi.exchange.respond(202, b"abc", (b"content-type", b"text/plain"))
    start, body = asgi.sent
    assert start["status"] == asgi.exchange.status == 202
    assert dict(start["headers"]) == {b"content-type": b"text/plain", b"content-length": b"3", b"x-extra": b"1"}
    assert body["body"] == b"abc"
    assert asgi.exchange.started


async def test_a_stream_is_open_until_it_is_ended() -> None:
    asgi = Asgi()
    await asgi.exchange.start_stream(b"one")
    await asgi.exchange.write(b"two")
    await asgi.exchange.end_stream(b"three")
    start, *pieces = asgi.sent
    assert (b"content-type", b"text/event-stream") in start["headers"]
    assert [piece["body"] for piece in pieces] == [b"one", b"two", b"three"]
    assert [piece.get("more_body", False) for piece in pieces] == [True, True, False]


async def test_a_stream_whose_first_event_is_not_there_yet_begins_all_the_same() -> None:
    asgi = Asgi()
    await asgi.exchange.start_stream()
    assert [message["type"] for message in asgi.sent] == ["http.response.start", "http.response.body"]
    assert (asgi.sent[1]["body"], asgi.sent[1]["more_body"]) == (b"", True)


def test_names_of_headers_are_lower_case_and_several_of_one_name_are_joined() -> None:
    assert header_map([(b"Accept", b"a"), (b"ACCEPT", b"b"), (b"x", b"\xe9")]) == {"accept": "a, b", "x": "é"}


@given(st.lists(st.tuples(st.binary(), st.binary())))
def test_any_headers_can_be_read(headers: list[tuple[bytes, bytes]]) -> None:
    assert len(header_map(headers)) <= len(headers)
