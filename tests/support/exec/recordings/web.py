"""Scenes of HTTP requests, after the recording of 0.166.0."""

from collections.abc import Mapping

from tests.support.exec.small_web import Page, Visit, small_web
from tests.support.exec.wire import Json, Target, Wire, session


async def body(visit: Visit) -> None:
    await visit.answer(b"body-body-body-", fields="X-A: 1\r\nX-A: 2\r\n")


async def echo(visit: Visit) -> None:
    await visit.answer(b"echo:" + visit.body, "201 Created")


async def away(visit: Visit) -> None:
    await visit.answer(b"", "302 Found", "location: /x\r\n")


PAGES: Mapping[str, Page] = {"/x": body, "/p": echo, "/redir": away}
BODY = "Ym9keS1ib2R5LWJvZHkt"


async def answers(target: Target) -> None:
    async with small_web(PAGES) as web, session(target.url) as wire:
        got = await wire.call("http/request", {"method": "GET", "url": web.url("/x"), "requestId": "h1"})
        assert (got["status"], got["bodyBase64"]) == (200, BODY)
        assert {"name": "x-a", "value": "2"} in got["headers"]  # type: ignore[operator]
        asked: Json = {"method": "POST", "url": web.url("/p"), "requestId": "h2", "bodyBase64": "ZGF0YQ=="}
        asked |= {"headers": [{"name": "X-T", "value": "v"}], "timeoutMs": 2000}
        made = await wire.call("http/request", asked)
        assert (made["status"], made["bodyBase64"]) == (201, "ZWNobzpkYXRh")
        assert web.visits[1].headers["x-t"] == "v"


async def redirects(target: Target) -> None:
    async with small_web(PAGES) as web, session(target.url) as wire:
        asked: Json = {"method": "GET", "url": web.url("/redir"), "requestId": "h3"}
        assert (await wire.call("http/request", asked | {"redirectPolicy": "stop"}))["status"] == 302
        assert (await wire.call("http/request", asked))["bodyBase64"] == BODY


async def streams(target: Target) -> None:
    async with small_web(PAGES) as web, session(target.url) as wire:
        asked: Json = {"method": "GET", "url": web.url("/x"), "requestId": "st1", "streamResponse": True}
        got = await wire.call("http/request", asked)
        assert (got["status"], got["bodyBase64"]) == (200, "")
        method = "http/request/bodyDelta"
        first: Json = {"requestId": "st1", "seq": 1, "deltaBase64": BODY, "done": False, "error": None}
        last: Json = {"requestId": "st1", "seq": 2, "deltaBase64": "", "done": True, "error": None}
        assert await wire.until(2) == [{"method": method, "params": first}, {"method": method, "params": last}]


async def refusals(target: Target) -> None:
    async with small_web(PAGES) as web, session(target.url) as wire:
        asked: Json = {"method": "GET", "url": web.url("/x"), "requestId": "h5"}
        text = "http/request only supports http and https URLs, got ftp"
        assert await wire.error("http/request", asked | {"url": "ftp://x/"}) == (-32602, text)
        text = "http/request header name is invalid: invalid HTTP header name"
        bad = {"headers": [{"name": "bad name", "value": "x"}]}
        assert await wire.error("http/request", asked | bad) == (-32602, text)
        await _refuses_a_secret(wire, asked)
        code, text = await wire.error("http/request", asked | {"url": "http://127.0.0.1:1/", "timeoutMs": 500})
        assert code == -32603
        assert text.startswith("http/request failed: error sending request for url (http://127.0.0.1:1/)")


async def _refuses_a_secret(wire: Wire, asked: Json) -> None:
    text = "http/request header a cannot use executor environment variable OPENAI_API_KEY"
    headers = {"headers": [{"name": "a", "value": "", "valueEnvVar": "OPENAI_API_KEY"}]}
    assert await wire.error("http/request", asked | headers) == (-32602, text)


SCENES = [answers, redirects, streams, refusals]
