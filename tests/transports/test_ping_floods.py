"""A client that sends pings and does not read the answers costs the server little, and the other clients nothing."""

import asyncio
import contextlib
import socket
from collections.abc import AsyncIterator, Awaitable, Callable
from functools import partial
from typing import Any, Final

import pytest
import uvicorn
import uvloop
from websockets.frames import Frame, Opcode

from codex_mcp.base.tasks import TaskSet
from codex_mcp.transports import direct_socket
from codex_mcp.transports.connections import Connections
from codex_mcp.transports.direct_socket import DirectSocket, LimitedSocket
from codex_mcp.transports.http import CONNECTION
from codex_mcp.transports.web_limits import LimitedHttp, WebLimits
from tests.support.patience import PATIENCE
from tests.transports.test_direct_socket import HANDSHAKE, RawClient

SMALL: Final = 4096
"""For the buffers of the kernel, so that little is sent before they are full."""

BOUND: Final = 1024 * 1024
"""Far more than waits for one client."""

LOOPS: Final = [asyncio.new_event_loop, uvloop.new_event_loop]
KINDS: Final = [LimitedSocket, DirectSocket]


class Echo:
    """Accepts sockets, and answers binary messages."""

    def __init__(self) -> None:
        self.sockets: list[LimitedSocket] = []

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        await receive()
        await send({"type": "websocket.accept"})
        self.sockets.append(scope[CONNECTION])
        if isinstance(direct := scope[CONNECTION], DirectSocket):
            direct.deliver_to(_Answers(direct), BOUND // 2)
        while (event := await receive())["type"] == "websocket.receive":
            await send({"type": "websocket.send", "bytes": event["bytes"]})


class _Answers:
    def __init__(self, direct: DirectSocket) -> None:
        self.message_received = direct.send_message

    def room_changed(self, *, has_room: bool) -> None:
        """Of no interest here."""


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
        self._rest = b""
        self._pings = 0

    async def begin(self) -> None:
        loop = asyncio.get_running_loop()
        await loop.sock_sendall(self._socket, HANDSHAKE)
        while not (await loop.sock_recv(self._socket, 1000)).endswith(b"\r\n\r\n"):
            pass

    async def until(self, is_enough: Callable[[], bool]) -> None:
        async with asyncio.timeout(PATIENCE):
            while not is_enough():
                if not self._rest:
                    self._rest = self._chunk
                    self._pings += self._pings_each
                with contextlib.suppress(BlockingIOError, ConnectionError):
                    self._rest = self._rest[self._socket.send(self._rest) :]
                await asyncio.sleep(0)

    async def read(self) -> None:
        """Send the rest, and a message; its answer follows the answers to all pings."""
        loop = asyncio.get_running_loop()
        message = Frame(Opcode.BINARY, b"the end").serialize(mask=True)
        tasks = TaskSet()
        sending = tasks.spawn(loop.sock_sendall(self._socket, self._rest + message), name="rest of the flood")
        expected = self._pong * self._pings + Frame(Opcode.BINARY, b"the end").serialize(mask=False)
        came = b""
        async with asyncio.timeout(PATIENCE):
            while len(came) < len(expected):
                came += await loop.sock_recv(self._socket, 1 << 20)
            await sending
        await tasks.aclose()
        assert came == expected

    def close(self) -> None:
        self._socket.close()


@contextlib.asynccontextmanager
async def serving(kind: type[LimitedSocket], limits: WebLimits) -> AsyncIterator[tuple[Echo, int]]:
    app = Echo()
    config = uvicorn.Config(
        app,
        http=partial(LimitedHttp, limits=limits),  # type: ignore[arg-type]
        ws=partial(kind, limits=limits),  # type: ignore[arg-type]
        ws_per_message_deflate=False,
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


@contextlib.asynccontextmanager
async def flooded(
    kind: type[LimitedSocket], limits: WebLimits, size: int
) -> AsyncIterator[tuple[Flood, LimitedSocket, int]]:
    async with serving(kind, limits) as (app, port):
        flood = Flood(port, size)
        try:
            await flood.begin()
            served = app.sockets[0]
            await flood.until(lambda: served.transport.is_closing() or _is_stopped(served) or served.unsent > BOUND)
            yield flood, served, port
        finally:
            flood.close()


def _is_stopped(served: LimitedSocket) -> bool:
    return bool(served.unsent) and not served.transport.is_reading()


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


def run(loop: Callable[[], asyncio.AbstractEventLoop], story: Callable[[], Awaitable[None]]) -> None:
    async def whole() -> None:
        await story()

    with asyncio.Runner(loop_factory=loop) as runner:
        runner.run(whole())


@pytest.mark.parametrize("loop", LOOPS)
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("size", [0, 125])
def test_a_client_that_does_not_read_pongs_is_not_read_until_it_does(
    loop: Callable[[], asyncio.AbstractEventLoop], kind: type[LimitedSocket], size: int
) -> None:
    async def story() -> None:
        async with flooded(kind, WebLimits(PATIENCE), size) as (flood, served, port):
            assert served.unsent < BOUND
            assert not served.transport.is_reading()
            await answered(port)
            await flood.read()
            assert served.transport.is_reading()

    run(loop, story)


@pytest.mark.parametrize("loop", LOOPS)
@pytest.mark.parametrize("kind", KINDS)
def test_unread_pongs_count_as_bytes_that_are_held(
    loop: Callable[[], asyncio.AbstractEventLoop], kind: type[LimitedSocket], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(direct_socket, "COUNTED_FROM", 1)

    async def story() -> None:
        limits = WebLimits(PATIENCE, connections=Connections(8, held_bytes=20_000))
        async with flooded(kind, limits, 125) as (_, served, port):
            assert served.transport.is_closing()
            await answered(port)

    run(loop, story)
