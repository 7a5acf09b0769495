"""A client that sends pings and does not read the answers costs the server little, and the other clients nothing."""

import asyncio
import contextlib
import socket
from collections.abc import AsyncIterator, Callable
from functools import partial
from typing import Any, Final

import pytest
import uvicorn
import uvloop
from websockets.frames import Frame, Opcode

from codex_mcp.transports.http import HttpExchange
from codex_mcp.transports.web_limits import LimitedHttp, WebLimits
from codex_mcp.transports.websockets.socket import MAX_PONGS, Socket, SocketRules
from tests.support.patience import PATIENCE
from tests.transports.websockets.test_socket import HANDSHAKE, RawClient

SMALL: Final = 4096
"""For the buffers of the kernel, so that little is sent before they are full."""

MANY: Final = 100_000
"""Pings."""

RULES: Final = SocketRules(is_binary=True, counts_unsent=True)

LOOPS: Final = [asyncio.new_event_loop, uvloop.new_event_loop]


class Echo:
    """Accepts sockets, and answers their messages."""

    def __init__(self) -> None:
        self.sockets: list[Socket] = []

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        answers = HttpExchange(scope, receive, send).accept(RULES, _Answers)
        assert answers is not None
        self.sockets.append(answers.socket)
        await answers.lost.wait()


class _Answers:
    def __init__(self, socket: Socket) -> None:
        self.socket = socket
        self.lost = asyncio.Event()
        self.frame_received = socket.send

    def pause_writing(self) -> None:
        """Of no interest here."""

    def resume_writing(self) -> None:
        """Of no interest here."""

    def connection_lost(self) -> None:
        self.lost.set()


class Flood:
    """A client that reads nothing before `read`."""

    def __init__(self, port: int, size: int) -> None:
        self._socket = socket.socket()
        self._socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, SMALL)
        self._socket.connect(("127.0.0.1", port))
        self._socket.settimeout(0)
        ping = Frame(Opcode.PING, bytes(size)).serialize(mask=True)
        self._chunk = ping * (100_000 // len(ping))
        self._pings_each = len(self._chunk) // len(ping)
        self._pong = Frame(Opcode.PONG, bytes(size)).serialize(mask=False)

    async def begin(self) -> None:
        loop = asyncio.get_running_loop()
        await loop.sock_sendall(self._socket, HANDSHAKE)
        while not (await loop.sock_recv(self._socket, 1000)).endswith(b"\r\n\r\n"):
            pass

    async def send(self, pings: int) -> None:
        """As many as fit, of so many."""
        async with asyncio.timeout(PATIENCE):
            for _ in range(pings // self._pings_each):
                rest = self._chunk
                while rest:
                    with contextlib.suppress(BlockingIOError):
                        rest = rest[self._socket.send(rest) :]
                    await asyncio.sleep(0)

    async def read(self) -> int:
        """Send a message, and read its answer; how many answers to pings came before it."""
        loop = asyncio.get_running_loop()
        await loop.sock_sendall(self._socket, Frame(Opcode.BINARY, b"the end").serialize(mask=True))
        end = Frame(Opcode.BINARY, b"the end").serialize(mask=False)
        came = b""
        async with asyncio.timeout(PATIENCE):
            while not came.endswith(end):
                came += await loop.sock_recv(self._socket, 1 << 20)
        answers = came.removesuffix(end)
        assert answers == self._pong * (len(answers) // len(self._pong))
        return len(answers) // len(self._pong)

    def close(self) -> None:
        self._socket.close()


@contextlib.asynccontextmanager
async def serving(limits: WebLimits) -> AsyncIterator[tuple[Echo, int]]:
    app = Echo()
    config = uvicorn.Config(
        app,
        http=partial(LimitedHttp, limits=limits),  # type: ignore[arg-type]
        ws="none",
        loop="none",
        lifespan="off",
        log_config=None,
    )
    config.load()
    server = uvicorn.Server(config)
    server.lifespan = config.lifespan_class(config)
    with socket.create_server(("127.0.0.1", 0)) as listener:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, SMALL)
        await server.startup([listener])
        try:
            yield app, listener.getsockname()[1]
        finally:
            await server.shutdown([listener])


@pytest.fixture(scope="module", autouse=True)
def a_first_uvloop() -> None:
    """The first one opens a pipe for the signals of the whole process, which stays open."""
    uvloop.new_event_loop().close()


async def answered(port: int) -> None:
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.write(HANDSHAKE)
    client = RawClient(reader, writer)
    await client.handshake()
    client.send(Opcode.PING, b"hello")
    assert await client.frame() == (0x8A, b"hello")
    writer.transport.abort()


@pytest.mark.parametrize("loop", LOOPS)
@pytest.mark.parametrize("size", [0, 125])
def test_a_client_that_does_not_read_pongs_costs_little_and_gets_them_again_once_it_reads(
    loop: Callable[[], asyncio.AbstractEventLoop], size: int
) -> None:
    async def story() -> None:
        async with serving(WebLimits(PATIENCE)) as (app, port):
            flood = Flood(port, size)
            try:
                await flood.begin()
                await flood.send(MANY)
                assert app.sockets[0].unsent < 2 * MAX_PONGS
                await answered(port)
                assert 0 < await flood.read() < MANY
                await flood.send(1)
                assert await flood.read() >= 0
            finally:
                flood.close()

    with asyncio.Runner(loop_factory=loop) as runner:
        runner.run(story())
