"""Requests to a small web server on this machine."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from codex_mcp.execserver.http import requests
from codex_mcp.execserver.http.requests import HttpRequests
from codex_mcp.rpc.errors import RequestFailed
from codex_mcp.wire.exec.base64 import decode_base64
from codex_mcp.wire.exec.http import HttpHeader, HttpRequest, HttpResponse, RedirectPolicy
from tests.support.exec.parts import RecordingTransport
from tests.support.exec.small_web import SmallWeb, Visit, own_certificate, small_web
from tests.support.patience import PATIENCE


async def hello(visit: Visit) -> None:
    await visit.answer(b"hello", fields="X-A: 1\r\nX-A: 2\r\n")


async def echo(visit: Visit) -> None:
    await visit.answer(visit.body, "201 Created")


async def away(visit: Visit) -> None:
    await visit.answer(b"", "302 Found", "location: /hello\r\n")


async def around(visit: Visit) -> None:
    await visit.answer(b"", "302 Found", "location: /around\r\n")


async def slow(visit: Visit) -> None:
    await visit.say(b"HTTP/1.1 200 OK\r\n\r\nbegun ")
    await asyncio.Event().wait()


async def broken(visit: Visit) -> None:
    await visit.say(b"HTTP/1.1 200 OK\r\ncontent-length: 10\r\n\r\nhalf ")


async def large(visit: Visit) -> None:
    await visit.answer(bytes(3_000_000))


PAGES = {
    "/hello": hello,
    "/echo": echo,
    "/away": away,
    "/around": around,
    "/slow": slow,
    "/broken": broken,
    "/large": large,
}


@asynccontextmanager
async def at_work() -> AsyncIterator[tuple[HttpRequests, SmallWeb, RecordingTransport]]:
    client = RecordingTransport()
    http = HttpRequests(client.send)
    async with asyncio.timeout(PATIENCE), small_web(PAGES) as web:
        try:
            yield http, web, client
        finally:
            await http.aclose()


def body(response: HttpResponse) -> bytes:
    return decode_base64(response.body_base64)


def deltas(client: RecordingTransport) -> list[dict[str, object]]:
    return [message["params"] for message in client.messages]  # type: ignore[misc]


def streamed(client: RecordingTransport) -> bytes:
    return b"".join(decode_base64(str(delta["deltaBase64"])) for delta in deltas(client))


async def test_an_answer_comes_whole() -> None:
    async with at_work() as (http, web, _):
        response = await http.request(HttpRequest("GET", web.url("/hello"), "r"))
        assert (response.status, body(response)) == (200, b"hello")
        assert [header.value for header in response.headers if header.name == "x-a"] == ["1", "2"]


async def test_a_body_and_headers_are_sent() -> None:
    async with at_work() as (http, web, _):
        asked = HttpRequest("POST", web.url("/echo"), "r", [HttpHeader("X-T", "v")], "ZGF0YQ==")
        response = await http.request(asked)
        assert (response.status, body(response)) == (201, b"data")
        assert web.visits[0].headers["x-t"] == "v"


async def test_redirects_are_followed_unless_they_are_not_to_be() -> None:
    async with at_work() as (http, web, _):
        assert body(await http.request(HttpRequest("GET", web.url("/away"), "r"))) == b"hello"
        stopped = HttpRequest("GET", web.url("/away"), "r", redirect_policy=RedirectPolicy.STOP)
        assert (await http.request(stopped)).status == 302
        with pytest.raises(RequestFailed, match="too many redirects"):
            await http.request(HttpRequest("GET", web.url("/around"), "r"))


async def test_a_stream_is_answered_at_once_and_comes_in_pieces() -> None:
    async with at_work() as (http, web, client):
        response = await http.request(HttpRequest("GET", web.url("/slow"), "r", stream_response=True))
        assert (response.status, response.body_base64, client.messages) == (200, "", [])
        await client.until("http/request/bodyDelta")
        assert streamed(client) == b"begun "
        with pytest.raises(RequestFailed, match="`r` is already active"):
            await http.request(HttpRequest("GET", web.url("/hello"), "r", stream_response=True))
        assert "1 streams" in repr(http)


async def test_a_stream_ends_with_a_last_word() -> None:
    async with at_work() as (http, web, client):
        for name in ("r", "r", "s"):
            client.messages.clear()
            await http.request(HttpRequest("GET", web.url("/large"), name, stream_response=True))
            await client.until_true(lambda: bool(deltas(client)) and bool(deltas(client)[-1]["done"]))
            assert streamed(client) == bytes(3_000_000)
            assert [delta["seq"] for delta in deltas(client)] == list(range(1, len(client.messages) + 1))
            assert deltas(client)[-1] == {
                "requestId": name,
                "seq": len(client.messages),
                "deltaBase64": "",
                "done": True,
                "error": None,
            }


async def test_a_stream_that_breaks_says_so() -> None:
    async with at_work() as (http, web, client):
        await http.request(HttpRequest("GET", web.url("/broken"), "r", stream_response=True))
        await client.until_true(lambda: bool(deltas(client)) and bool(deltas(client)[-1]["done"]))
        assert streamed(client) == b"half "
        assert "ended before the response did" in str(deltas(client)[-1]["error"])
        await http.request(HttpRequest("GET", web.url("/hello"), "r", stream_response=True))


async def test_a_client_that_reads_too_slowly_is_sent_nothing() -> None:
    async with at_work() as (http, web, client):
        http.set_full(is_full=True)
        await http.request(HttpRequest("GET", web.url("/large"), "r", stream_response=True))
        await http.request(HttpRequest("GET", web.url("/hello"), "other"))
        assert client.messages == []
        http.set_full(is_full=False)
        await client.until_true(lambda: len(streamed(client)) == 3_000_000)


async def test_what_goes_wrong_is_told() -> None:
    async with at_work() as (http, web, _):
        wrong = [
            (HttpRequest("GET", "http://127.0.0.1:1/", "r"), "error sending request for url (http://127.0.0.1:1/)"),
            (HttpRequest("GET", web.url("/broken"), "r"), "ended before"),
            (HttpRequest("GET", web.url("/nowhere"), "r"), "ended before"),
            (HttpRequest("GET", web.url("/slow"), "r", timeout_ms=20), "timeout"),
            (HttpRequest("GET", "https://127.0.0.1:1/", "r", stream_response=True), "(https://127.0.0.1:1/)"),
        ]
        for asked, text in wrong:
            with pytest.raises(RequestFailed) as failed:
                await http.request(asked)
            assert failed.value.error.code == -32603
            assert text in failed.value.error.message
        assert "0 streams" in repr(http)


async def test_only_a_certificate_that_is_trusted_will_do(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    certificate = tmp_path / "certificate.pem"
    tls = own_certificate(certificate)
    async with at_work() as (http, _, _), small_web(PAGES, tls) as web:
        asked = HttpRequest("GET", web.url("/hello").replace("http:", "https:"), "r")
        with pytest.raises(RequestFailed, match="CERTIFICATE_VERIFY_FAILED"):
            await http.request(asked)
        monkeypatch.setenv("SSL_CERT_FILE", str(certificate))
        assert body(await http.request(asked)) == b"hello"


async def test_nothing_grows_without_end(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(requests, "MAX_BODY_BYTES", 1000)
    monkeypatch.setattr(requests, "MAX_STREAMS", 2)
    async with at_work() as (http, web, _):
        with pytest.raises(RequestFailed, match="use streamResponse"):
            await http.request(HttpRequest("GET", web.url("/large"), "r"))
        for name in "ab":
            await http.request(HttpRequest("GET", web.url("/slow"), name, stream_response=True))
        with pytest.raises(RequestFailed, match="2 streams are open"):
            await http.request(HttpRequest("GET", web.url("/slow"), "c", stream_response=True))


async def test_everything_ends_with_the_connection() -> None:
    async with at_work() as (http, web, client):
        await http.request(HttpRequest("GET", web.url("/slow"), "r", stream_response=True))
        await http.aclose()
        await http.aclose()
        assert client.messages == []
