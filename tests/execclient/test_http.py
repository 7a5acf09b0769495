"""Requests that a real exec-server makes for a client: Codex's own, and ours."""

import asyncio
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

from codex_mcp.base.tasks import TaskSet
from codex_mcp.execclient.errors import BodyLost, OutcomeUnknown, RequestRefused, SessionLost
from codex_mcp.execclient.flow import Flow
from codex_mcp.execclient.http import HttpBody, HttpOptions
from codex_mcp.execclient.recovery import ConnectionState
from codex_mcp.wire.exec.base64 import encode_base64
from codex_mcp.wire.exec.http import BodyDelta, RedirectPolicy
from tests.support.exec.exec_server import codex_exec_server, connected, own_exec_server, served_by
from tests.support.exec.small_web import Visit, small_web
from tests.support.patience import PATIENCE

HEAD = b"HTTP/1.1 200 OK\r\ncontent-type: text/plain\r\ncontent-length: 1000\r\n\r\n"


@pytest.fixture(params=[codex_exec_server(), own_exec_server()], ids=["codex", "ours"], autouse=True)
def server(request: pytest.FixtureRequest) -> Iterator[None]:
    argv: Sequence[str] = request.param
    with served_by(argv):
        yield


async def echo(visit: Visit) -> None:
    await visit.answer(visit.method.encode() + b" " + visit.body, fields=f"x-seen: {visit.headers.get('x-mine')}\r\n")


async def moved(visit: Visit) -> None:
    await visit.answer(b"", "302 Found", "location: /echo\r\n")


async def test_a_request_is_made_on_the_servers_machine_and_answered_whole(tmp_path: Path) -> None:
    async with small_web({"/echo": echo, "/moved": moved}) as web, connected(tmp_path) as setting:
        http = setting.client.http
        answer = await http.request("POST", web.url("/echo"), HttpOptions({"x-mine": "yes"}, b"hello"))
        assert (answer.status, answer.body) == (200, b"POST hello")
        assert ("x-seen", "yes") in [(header.name, header.value) for header in answer.headers]
        assert (await http.request("GET", web.url("/moved"))).body == b"GET "
        stopped = await http.request("GET", web.url("/moved"), HttpOptions(redirects=RedirectPolicy.STOP))
        assert stopped.status == 302
        with pytest.raises(RequestRefused):
            await http.request("GET", "http://127.0.0.1:1/nobody", HttpOptions(timeout=PATIENCE))


async def test_a_body_is_read_while_it_is_sent(tmp_path: Path) -> None:
    gate = asyncio.Event()

    async def slow(visit: Visit) -> None:
        await visit.say(HEAD + b"a" * 400)
        await gate.wait()
        await visit.say(b"b" * 600)

    async with small_web({"/slow": slow}) as web, connected(tmp_path) as setting:
        async with setting.client.http.stream("GET", web.url("/slow")) as answer:
            assert answer.status == 200
            read = b""
            async for piece in answer.body:
                read += piece
                if len(read) == 400:
                    gate.set()
            assert read == b"a" * 400 + b"b" * 600
        async with setting.client.http.stream("GET", web.url("/slow")) as left:
            assert left.status == 200  # a reader that leaves does not disturb the next request
        assert (await setting.client.environment_status()) is not None


async def test_a_streamed_body_fails_at_once_when_the_connection_breaks(tmp_path: Path) -> None:
    never = asyncio.Event()

    async def endless(visit: Visit) -> None:
        await visit.say(HEAD + b"a" * 400)
        await never.wait()

    async with small_web({"/endless": endless, "/echo": echo}) as web, connected(tmp_path) as setting:
        client = setting.client
        async with client.http.stream("GET", web.url("/endless")) as answer:
            pieces = aiter(answer.body)
            read = await anext(pieces)
            while len(read) < 400:
                read += await anext(pieces)
            setting.proxy.is_refusing = True  # so that the session cannot be resumed before the body fails
            setting.proxy.cut()
            with pytest.raises(BodyLost, match="the connection to the exec-server broke"):
                async with asyncio.timeout(PATIENCE):
                    await anext(pieces)
            assert client.state is ConnectionState.RECOVERING
            setting.proxy.is_refusing = False
        assert (await client.http.request("GET", web.url("/echo"))).body == b"GET "


async def test_a_request_in_flight_is_not_repeated(tmp_path: Path) -> None:
    never, asked = asyncio.Event(), asyncio.Event()

    async def silent(_visit: Visit) -> None:
        asked.set()
        await never.wait()

    async with small_web({"/silent": silent}) as web, connected(tmp_path) as setting:
        tasks = TaskSet()
        waiting = tasks.spawn(setting.client.http.request("POST", web.url("/silent")), name="request")
        await asked.wait()
        setting.proxy.cut()
        with pytest.raises(OutcomeUnknown):
            await waiting
        await setting.client.environment_status()
        assert len(web.visits) == 1
        await setting.client.aclose()
        with pytest.raises(SessionLost):
            await setting.client.http.request("GET", web.url("/silent"))
        await tasks.aclose()


async def test_a_body_with_a_missing_or_unreadable_piece_fails() -> None:
    for delta in (
        BodyDelta("r", 2, encode_base64(b"later"), done=False, error=None),
        BodyDelta("r", 1, "***", done=False, error=None),
        BodyDelta("r", 1, "", done=True, error="the server hung up"),
    ):
        body = HttpBody("http://a", Flow())
        body.received(delta)
        with pytest.raises(BodyLost, match=r"cannot read the rest of the answer of http://a: "):
            [piece async for piece in body]
