"""WebSockets without a task per message, in a real server: what a client may send, and how both ends wait."""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable
from functools import partial
from typing import Any, Final

import pytest
import uvicorn
from websockets.frames import Frame, Opcode

from codex_mcp.base.tasks import TaskSet
from codex_mcp.transports.http import HttpExchange, Receive, Scope, Send
from codex_mcp.transports.web_limits import LimitedHttp, WebLimits
from codex_mcp.transports.websockets.socket import Socket, SocketRules
from tests.support.patience import PATIENCE

LIMIT: Final = 100_000
ENOUGH: Final = 50_000

HANDSHAKE: Final = (
    b"GET / HTTP/1.1\r\nHost: localhost\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
    b"Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13\r\n\r\n"
)


RULES: Final = SocketRules(is_binary=True, room=(ENOUGH, ENOUGH // 4), counts_unsent=True, message_bytes=LIMIT)


class Owner:
    """Accepts one socket, and echoes, holds or closes as its messages say."""

    def __init__(self) -> None:
        self.messages: list[bytes] = []
        self.rooms: list[bool] = []
        self.asked = asyncio.Event()
        self.accepted = asyncio.Event()
        self.may_accept = asyncio.Event()
        self.may_accept.set()
        self.ended = asyncio.Event()
        self.news = asyncio.Condition()
        self.socket: Socket
        self._tasks = TaskSet()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        self.asked.set()
        await self.may_accept.wait()
        assert HttpExchange(scope, receive, send).accept(RULES, self._listen) is self
        self.accepted.set()
        await self.ended.wait()

    def _listen(self, socket: Socket) -> "Owner":
        self.socket = socket
        return self

    def frame_received(self, frame: bytes) -> None:
        self.messages.append(frame)
        if frame == b"hold":
            self.socket.pause_reading()
        elif frame == b"close":
            self.socket.close(1008, "as you wish")
        else:
            self.socket.send(frame)
        self._notify()

    def pause_writing(self) -> None:
        self.rooms.append(False)
        self._notify()

    def resume_writing(self) -> None:
        self.rooms.append(True)
        self._notify()

    def connection_lost(self) -> None:
        self.ended.set()

    def _notify(self) -> None:
        self._tasks.spawn(self._tell(), name="news")

    async def _tell(self) -> None:
        async with self.news:
            self.news.notify_all()

    async def until(self, is_so: Callable[[], bool]) -> None:
        async with asyncio.timeout(PATIENCE), self.news:
            await self.news.wait_for(is_so)

    async def aclose(self) -> None:
        await self._tasks.aclose()


class RawClient:
    """Writes bytes, and reads frames as the server sends them: unmasked."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.reader = reader
        self.writer = writer

    def send(self, opcode: Opcode, data: bytes, **more: Any) -> None:
        self.writer.write(Frame(opcode, data, **more).serialize(mask=True))

    async def frame(self) -> tuple[int, bytes]:
        """First byte and payload of the next one."""
        async with asyncio.timeout(PATIENCE):
            first, size = await self.reader.readexactly(2)
            if size > 125:
                size = int.from_bytes(await self.reader.readexactly({126: 2, 127: 8}[size]), "big")
            return first, await self.reader.readexactly(size)

    async def handshake(self) -> None:
        async with asyncio.timeout(PATIENCE):
            assert b" 101 " in await self.reader.readuntil(b"\r\n\r\n")


@contextlib.asynccontextmanager
async def serving(owner: Owner) -> AsyncIterator[RawClient]:
    """A server with this owner, and a client that has asked for a socket."""
    limits = WebLimits(PATIENCE)
    config = uvicorn.Config(
        owner,
        http=partial(LimitedHttp, limits=limits),  # type: ignore[arg-type]
        ws="none",
        port=0,
        loop="none",
        lifespan="off",
        log_config=None,
    )
    server = uvicorn.Server(config)
    config.load()
    server.lifespan = config.lifespan_class(config)
    await server.startup()
    reader, writer = await asyncio.open_connection(*server.servers[0].sockets[0].getsockname()[:2], limit=1 << 24)
    writer.write(HANDSHAKE)
    try:
        yield RawClient(reader, writer)
    finally:
        writer.transport.abort()
        await server.shutdown()
        await owner.aclose()


async def test_messages_are_delivered_whole_in_fragments_and_between_pings() -> None:
    owner = Owner()
    async with serving(owner) as client:
        await client.handshake()
        client.send(Opcode.BINARY, b"whole")
        assert await client.frame() == (0x82, b"whole")
        client.send(Opcode.PING, b"are you there")
        assert await client.frame() == (0x8A, b"are you there")
        client.send(Opcode.TEXT, b"words")
        assert await client.frame() == (0x82, b"words")
        client.send(Opcode.BINARY, b"in ", fin=False)
        client.send(Opcode.PING, b"")
        client.send(Opcode.CONT, b"parts")
        assert await client.frame() == (0x8A, b"")
        assert await client.frame() == (0x82, b"in parts")
        client.send(Opcode.BINARY, bytes(LIMIT))
        assert await client.frame() == (0x82, bytes(LIMIT))
        client.send(Opcode.CLOSE, b"\x03\xe8")
        assert await client.frame() == (0x88, b"\x03\xe8")
        async with asyncio.timeout(PATIENCE):
            await owner.ended.wait()


async def test_what_comes_before_the_accept_is_delivered_in_order() -> None:
    owner = Owner()
    owner.may_accept.clear()
    async with serving(owner) as client:
        async with asyncio.timeout(PATIENCE):
            await owner.asked.wait()
        sent = [b"%d" % number for number in range(20)]
        for message in sent:
            client.send(Opcode.BINARY, message)
        await client.writer.drain()
        owner.may_accept.set()
        await client.handshake()
        assert [await client.frame() for _ in sent] == [(0x82, message) for message in sent]
        assert owner.messages == sent


@pytest.mark.parametrize(
    ("raw", "code"),
    [
        (Frame(Opcode.BINARY, b"not masked").serialize(mask=False), 1002),
        (Frame(Opcode.BINARY, bytes(LIMIT + 1)).serialize(mask=True), 1009),
        (Frame(Opcode.CONT, b"of nothing").serialize(mask=True), 1002),
        (b"\xa2\x83abcd123", 1002),
    ],
    ids=["not masked", "too long", "no beginning", "reserved"],
)
async def test_a_client_that_breaks_the_protocol_is_told_and_closed(raw: bytes, code: int) -> None:
    owner = Owner()
    async with serving(owner) as client:
        await client.handshake()
        client.writer.write(raw)
        client.send(Opcode.BINARY, b"afterwards")
        first, payload = await client.frame()
        assert (first, int.from_bytes(payload[:2], "big")) == (0x88, code)
        async with asyncio.timeout(PATIENCE):
            await owner.ended.wait()
        assert owner.messages == []


async def test_a_held_client_is_not_read_until_it_is_released() -> None:
    owner = Owner()
    async with serving(owner) as client:
        await client.handshake()
        client.send(Opcode.BINARY, b"hold")
        await owner.until(lambda: owner.messages == [b"hold"])
        assert not owner.socket._transport.is_reading()
        client.send(Opcode.BINARY, b"later")
        await client.writer.drain()
        owner.socket.resume_reading()
        assert await client.frame() == (0x82, b"later")


async def test_the_owner_learns_when_there_is_no_room_and_when_there_is_again() -> None:
    owner = Owner()
    async with serving(owner) as client:
        await client.handshake()
        async with asyncio.timeout(PATIENCE):
            await owner.accepted.wait()
        while not owner.rooms:
            owner.socket.send(bytes(LIMIT))
        unsent = owner.socket.unsent
        assert unsent > ENOUGH
        while owner.rooms[-1] is False:
            await client.frame()
        assert owner.rooms == [False, True]
        assert owner.socket.unsent <= ENOUGH // 4


async def test_a_close_follows_what_is_queued_and_ends_the_socket_once() -> None:
    owner = Owner()
    async with serving(owner) as client:
        await client.handshake()
        client.send(Opcode.BINARY, b"before")
        client.send(Opcode.BINARY, b"close")
        client.send(Opcode.BINARY, b"after")
        assert await client.frame() == (0x82, b"before")
        first, payload = await client.frame()
        assert (first, payload) == (0x88, b"\x03\xf0as you wish")
        owner.socket.close(1008, "twice")
        owner.socket.send(b"too late")
        client.send(Opcode.CLOSE, b"\x03\xf0")
        async with asyncio.timeout(PATIENCE):
            assert await client.reader.read() == b""
            await owner.ended.wait()
        assert owner.messages == [b"before", b"close"]
