"""A connection has its limits, whatever the other end does with it."""

import asyncio
import contextlib
import socket
from collections.abc import AsyncIterator, Awaitable, Callable
from functools import partial
from typing import Any

import uvicorn

from codex_mcp.base.tasks import TaskSet
from codex_mcp.transports.connections import Connections
from codex_mcp.transports.http import HttpExchange
from codex_mcp.transports.web_limits import MOST_PIPELINED, LimitedHttp, WebLimits
from codex_mcp.transports.websockets.channel import ROOM, SocketChannel
from codex_mcp.transports.websockets.socket import SocketRules
from tests.support.http.client import Wire, connect
from tests.support.patience import PATIENCE

SOON = 0.05
"""Seconds; in these tests patience is short where it is looked for, and long where it must not matter."""

PATIENT = WebLimits(stall_timeout=PATIENCE, head_time=PATIENCE, max_head_bytes=2000)

MEGABYTE = b"x" * 1_000_000

App = Callable[[Any, Any, Any], Awaitable[None]]


@contextlib.asynccontextmanager
async def limited(app: App, limits: WebLimits, kind: type[LimitedHttp] = LimitedHttp) -> AsyncIterator[int]:
    """Serve an application within these limits; the port."""
    config = uvicorn.Config(
        app,
        http=partial(kind, limits=limits),  # type: ignore[arg-type]
        ws="none",
        loop="none",
        lifespan="off",
        log_config=None,
    )
    server = uvicorn.Server(config)
    tasks = TaskSet()
    with socket.create_server(("127.0.0.1", 0)) as listener:
        serving = tasks.spawn(server._serve([listener]), name="listener")
        try:
            yield listener.getsockname()[1]
        finally:
            server.should_exit = True
            await serving


async def hello(scope: Any, receive: Any, send: Any) -> None:
    headers = [(b"content-length", b"5")]
    await send({"type": "http.response.start", "status": 200, "headers": headers})
    await send({"type": "http.response.body", "body": b"hello"})


class Endless:
    """Streams as much as is taken, until the client is gone."""

    def __init__(self) -> None:
        self.gone = asyncio.Event()

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        http = HttpExchange(scope, receive, send)
        if http.offers_socket:
            await self._socket(http)
            return
        await send({"type": "http.response.start", "status": 200, "headers": []})
        tasks = TaskSet()
        leaving = tasks.spawn(self._wait(receive), name="disconnect")
        while not leaving.done():
            await send({"type": "http.response.body", "body": MEGABYTE, "more_body": True})
            await asyncio.sleep(0)
        await tasks.aclose()

    async def _socket(self, http: HttpExchange) -> None:
        channel = http.accept(SocketRules(room=ROOM, stall_timeout=SOON), SocketChannel)
        assert channel is not None
        while not channel._is_lost:
            channel.send(MEGABYTE)
            await channel.drain(below=1)
        self.gone.set()

    async def _wait(self, receive: Any) -> None:
        while (await receive())["type"] != "http.disconnect":
            pass
        self.gone.set()


async def wait(event: asyncio.Event) -> None:
    async with asyncio.timeout(PATIENCE):
        await event.wait()


async def said(wire: Wire) -> bytes:
    """Everything until the server hangs up, however it does that."""
    try:
        return await wire.read_to_the_end()
    except ConnectionError:
        return b""


async def test_a_request_is_answered_and_the_next_on_the_same_connection_too() -> None:
    async with limited(hello, PATIENT) as port, connect(port) as wire:
        answers = [await wire.ask("GET", "/") for _ in range(3)]
        assert [answer.body for answer in answers] == [b"hello"] * 3


async def test_an_application_can_see_that_a_body_is_here_to_the_end() -> None:
    seen: list[bool] = []
    begun = asyncio.Event()

    async def app(scope: Any, receive: Any, send: Any) -> None:
        http = HttpExchange(scope, receive, send)
        seen.append(http.body_is_here)
        begun.set()
        await http.read_body(100)
        seen.append(http.body_is_here)
        await http.respond(200, b"hello")

    async with limited(app, PATIENT) as port, connect(port) as wire:
        await wire.ask("POST", "/", b"all of it")
        begun.clear()
        wire.send_raw(b"POST / HTTP/1.1\r\nhost: x\r\ncontent-length: 9\r\n\r\n")
        await wait(begun)
        wire.send_raw(b"all of it")
        await wire.read_answer()
    assert seen == [True, True, False, True]


async def greeting(scope: Any, receive: Any, send: Any) -> None:
    """Answer with what was said."""
    said = await receive()
    await send({"type": "http.response.start", "status": 200, "headers": [(b"content-length", b"5")]})
    await send({"type": "http.response.body", "body": said["body"] or b"empty"})


async def test_who_waits_with_the_body_until_it_may_come_is_told_so_before_the_answer() -> None:
    async with limited(greeting, PATIENT) as port, connect(port) as wire:
        wire.send_raw(b"POST / HTTP/1.1\r\nhost: x\r\ncontent-length: 5\r\nexpect: 100-continue\r\n\r\n")
        assert (await wire.read_head())[0] == 100
        wire.send_raw(b"hello")
        assert (await wire.read_answer()).body == b"hello"


async def test_an_answer_without_a_body_is_a_head() -> None:
    async with limited(greeting, PATIENT) as port, connect(port) as wire:
        wire.send("HEAD", "/")
        assert (await wire.read_head())[0] == 200
        assert (await wire.ask("GET", "/")).body == b"empty"


async def test_a_stream_begins_before_it_has_something_to_say() -> None:
    more = asyncio.Event()

    async def stream(scope: Any, receive: Any, send: Any) -> None:
        await send({"type": "http.response.start", "status": 200, "headers": []})
        await send({"type": "http.response.body", "body": b"", "more_body": True})
        await more.wait()
        await send({"type": "http.response.body", "body": b"hello"})

    async with limited(stream, PATIENT) as port, connect(port) as wire:
        wire.send("GET", "/")
        assert (await wire.read_head())[0] == 200
        more.set()
        assert (await wire.read_chunk(), await wire.read_chunk()) == (b"hello", b"")


async def test_nothing_is_held_back_to_be_sent_together_with_more() -> None:
    options: list[int] = []

    class Seen(LimitedHttp):
        def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
            super().connection_made(transport)
            opened = transport.get_extra_info("socket")
            options.append(opened.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY))

    async with limited(hello, PATIENT, Seen) as port, connect(port) as wire:
        await wire.ask("GET", "/")
    assert all(options)
    assert len(options) == 1


async def test_a_head_that_is_too_long_is_refused_in_one_piece_or_in_many_or_without_an_end() -> None:
    async with limited(hello, PATIENT) as port:
        for pieces in (
            [b"GET / HTTP/1.1\r\nhost: x\r\nlong: " + b"y" * 2000 + b"\r\n\r\n"],
            [b"GET / HTTP/1.1\r\n", *([b"a: b\r\n" * 100] * 10)],
            [b"GET / HTTP/1.1\r\nlong: ", *([b"y" * 1000] * 10)],
            [b"GET /" + b"y" * 2000 + b" HTTP/1.1\r\nhost: x\r\n\r\n"],
        ):
            async with connect(port) as wire:
                for piece in pieces:
                    wire.send_raw(piece)
                    await asyncio.sleep(0)
                assert (await said(wire)).partition(b"\r\n")[0] in (
                    b"HTTP/1.1 431 Request Header Fields Too Large",
                    b"",  # what it still sends makes the kernel forget our words
                )
        async with connect(port) as wire:
            assert (await wire.ask("GET", "/")).body == b"hello"


async def test_many_short_headers_are_a_head_that_is_too_long() -> None:
    async with limited(hello, PATIENT) as port:
        async with connect(port) as wire:
            wire.send_raw(b"GET / HTTP/1.1\r\n" + b"a:\r\n" * 300 + b"\r\n")
            assert (await wire.read_answer()).status == 200
        async with connect(port) as wire:
            wire.send_raw(b"GET / HTTP/1.1\r\n" + b"a:\r\n" * 500 + b"\r\n")
            assert (await wire.read_answer()).status == 431


H2C = (
    b"POST / HTTP/1.1\r\nconnection: Upgrade, HTTP2-Settings\r\nhost: x\r\nhttp2-settings: AAEAAEAA\r\nupgrade: h2c\r\n"
)
"""How Java's client begins, unless it is told to speak HTTP/1.1."""


async def test_an_offer_of_another_protocol_is_ignored_and_the_request_is_answered() -> None:
    async def echo(scope: Any, receive: Any, send: Any) -> None:
        http = HttpExchange(scope, receive, send)
        await http.respond(200, (await http.read_body(1_000_000))[:9] + b", ".join(map(str.encode, http.headers)))

    requests = [
        ([H2C + b"content-length: 9\r\n\r\nall of it"], b"all of it"),
        ([H2C + b"content-length: 9\r\n\r\n", b"all ", b"of it"], b"all of it"),
        ([H2C + b"transfer-encoding: chunked\r\n\r\n", b"9\r\nall of it\r\n0\r\n\r\n"], b"all of it"),
        ([H2C[:50], H2C[50:] + b"content-length: 200000\r\n\r\n" + b"x" * 200_000], b"x" * 9),
        ([H2C.replace(b"POST", b"GET") + b"\r\n"], b""),
        ([b"POST / HTTP/1.1\r\nhost: x\r\ncontent-length: 9\r\n\r\nall of it"], b"all of it"),
    ]
    async with limited(echo, PATIENT) as port, connect(port) as wire:
        for pieces, body in requests:
            for piece in pieces:
                wire.send_raw(piece)
                await asyncio.sleep(0)
            answer = await wire.read_answer()
            assert answer.status == 200
            assert answer.body.startswith(body + b"host")
            assert b"upgrade" not in answer.body
        wire.send_raw((H2C + b"content-length: 5\r\n\r\nhello") * 2)
        assert [(await wire.read_answer()).status for _ in range(2)] == [200, 200]


async def test_an_offer_that_closes_the_connection_afterwards_still_does() -> None:
    async with limited(hello, PATIENT) as port, connect(port) as wire:
        wire.send_raw(H2C.replace(b"Upgrade,", b"close, Upgrade,") + b"content-length: 0\r\n\r\n")
        assert (await said(wire)).endswith(b"hello")


async def test_a_head_that_is_too_long_is_told_so() -> None:
    async with limited(hello, PATIENT) as port, connect(port) as wire:
        answer = await wire.ask("GET", "/", headers={"long": "y" * 2000})
        assert (answer.status, answer.headers["connection"]) == (431, "close")
        assert answer.body == b"the request line and the headers are too long\n"


async def test_only_so_many_requests_are_sent_before_the_first_is_answered() -> None:
    request, count = b"GET / HTTP/1.1\r\nhost: x\r\n\r\n", MOST_PIPELINED
    async with limited(hello, PATIENT) as port:
        async with connect(port) as wire:
            wire.send_raw(request * count)
            assert [(await wire.read_answer()).body for _ in range(count)] == [b"hello"] * count
        async with connect(port) as wire:
            wire.send_raw(request * count * 10 + b"GET / HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n")
            assert (await said(wire)).count(b"hello") < count


async def test_a_body_is_not_part_of_the_head() -> None:
    async with limited(hello, PATIENT) as port, connect(port) as wire:
        assert (await wire.ask("POST", "/", MEGABYTE)).body == b"hello"
        assert (await wire.ask("POST", "/", b"small")).body == b"hello"


async def test_who_says_nothing_is_hung_up_on() -> None:
    async with limited(hello, WebLimits(PATIENCE, head_time=SOON)) as port, connect(port) as wire:
        assert await said(wire) == b""


async def test_a_head_that_does_not_come_to_its_end_is_refused() -> None:
    async with limited(hello, WebLimits(PATIENCE, head_time=SOON)) as port, connect(port) as wire:
        wire.send_raw(b"GET / HTTP/1.1\r\nho")
        answer = await wire.read_answer()
        assert (answer.status, answer.body) == (408, b"the request line and the headers came in too slowly\n")
        assert await said(wire) == b""


async def test_a_second_head_that_does_not_come_to_its_end_is_refused_too() -> None:
    async with limited(hello, WebLimits(PATIENCE, head_time=SOON)) as port, connect(port) as wire:
        await wire.ask("GET", "/")
        wire.send_raw(b"\r\nGET / HTT")
        assert (await wire.read_answer()).status == 408


async def test_what_is_no_http_is_told_so() -> None:
    async with limited(hello, PATIENT) as port, connect(port) as wire:
        wire.send_raw(b"\x16\x03\x01 hello?\r\n\r\n")
        assert (await wire.read_answer()).status == 400


async def test_a_reader_that_takes_nothing_is_cut() -> None:
    app = Endless()
    async with limited(app, WebLimits(stall_timeout=SOON)) as port, connect(port) as wire:
        wire.send("GET", "/")
        wire._reader._transport.pause_reading()  # type: ignore[attr-defined]
        await wait(app.gone)


async def test_a_long_answer_that_is_not_read_counts_among_the_bytes_that_are_held() -> None:
    lost = asyncio.Event()

    class Noting(LimitedHttp):
        def connection_lost(self, exc: Exception | None) -> None:
            super().connection_lost(exc)
            lost.set()

    async def long(scope: Any, receive: Any, send: Any) -> None:
        await send({"type": "http.response.start", "status": 200, "headers": []})
        await send({"type": "http.response.body", "body": 40 * MEGABYTE})

    limits = WebLimits(stall_timeout=10 * PATIENCE, connections=Connections(held_bytes=8 * len(MEGABYTE)))
    async with limited(long, limits, Noting) as port, connect(port) as wire:
        wire.send("GET", "/")
        wire._reader._transport.pause_reading()  # type: ignore[attr-defined]
        await wait(lost)


async def test_a_socket_that_takes_nothing_is_cut() -> None:
    app = Endless()
    async with limited(app, WebLimits(stall_timeout=SOON)) as port, connect(port) as wire:
        upgrade = {"connection": "upgrade", "upgrade": "websocket", "sec-websocket-version": "13"}
        wire.send("GET", "/", headers={**upgrade, "sec-websocket-key": "dGhlIHNhbXBsZSBub25jZQ=="})
        assert (await wire.read_head())[0] == 101
        wire._reader._transport.pause_reading()  # type: ignore[attr-defined]
        await wait(app.gone)


async def test_the_end_of_a_connection_is_told_to_a_request_that_another_was_sent_after() -> None:
    app = Endless()
    async with limited(app, PATIENT) as port:
        async with connect(port) as wire:
            wire.send("GET", "/")
            wire.send("GET", "/again")
            await wire.read_head()
        await wait(app.gone)
