import asyncio
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from http import HTTPStatus

import pytest

from codex_mcp.transports import connections
from codex_mcp.transports.websockets import dialled
from codex_mcp.transports.websockets import socket as websocket
from codex_mcp.transports.websockets.accepted import KEEPALIVE, Endpoint, listen
from codex_mcp.transports.websockets.dialled import DialledSocket, HandshakeRefused, dial
from codex_mcp.transports.websockets.socket import Socket
from tests.support.exec.parts import eventually
from tests.support.patience import PATIENCE

UPGRADE = (
    b"GET / HTTP/1.1\r\nHost: x\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
    b"Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n\r\n"
)


class Listener:
    """Remembers what happened on an accepted socket."""

    def __init__(self, outlet: Socket) -> None:
        self.outlet = outlet
        self.frames: asyncio.Queue[bytes] = asyncio.Queue()
        self.pressure: list[str] = []
        self.ready = asyncio.Event()
        self.lost = asyncio.Event()

    def frame_received(self, frame: bytes) -> None:
        self.frames.put_nowait(frame)

    def pause_writing(self) -> None:
        self.pressure.append("full")

    def resume_writing(self) -> None:
        self.pressure.append("ready")
        self.ready.set()

    def connection_lost(self) -> None:
        self.lost.set()


@asynccontextmanager
async def a_pair() -> AsyncIterator[tuple[Listener, DialledSocket]]:
    """Both ends of a connection."""
    accepted: list[Listener] = []

    def accept(outlet: Socket) -> Listener:
        accepted.append(Listener(outlet))
        return accepted[0]

    endpoint = Endpoint(accept, lambda _: None, lambda: False)
    async with asyncio.timeout(PATIENCE), await listen("127.0.0.1", 0, endpoint) as server:
        client = await dial(f"ws://127.0.0.1:{server.sockets[0].getsockname()[1]}", {}, PATIENCE)
        client.send(b"hello")
        await eventually(lambda: bool(accepted))
        assert await accepted[0].frames.get() == b"hello"
        try:
            yield accepted[0], client
        finally:
            await client.aclose()
            await client.aclose()
            await accepted[0].lost.wait()


async def messages(client: DialledSocket, count: int) -> list[bytes]:
    got: list[bytes] = []
    while len(got) < count:
        frames = await client.receive()
        assert frames
        got += frames
    return got


async def test_messages_arrive_whole_in_both_directions() -> None:
    async with a_pair() as (server, client):
        for size in (0, 1, 125, 126, 65_535, 65_536, 3_000_000):
            client.send(b"x" * size)
            assert len(await server.frames.get()) == size
            server.outlet.send(b"y" * (size // 2), b"y" * (size - size // 2))
            assert await messages(client, 1) == [b"y" * size]


async def test_long_messages_leave_in_pieces_that_clients_accept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(dialled, "DIALLED_FRAME_BYTES", websocket.FRAGMENT_BYTES)
    async with a_pair() as (server, client):
        message = bytes(range(128)) * 80_000
        server.outlet.send(message)
        assert await messages(client, 1) == [message]


async def test_a_slow_reader_is_noticed_and_so_is_its_recovery() -> None:
    async with a_pair() as (server, client):
        count = 0
        while not server.pressure:
            server.outlet.send(b"x" * 1_000_000)
            count += 1
            await asyncio.sleep(0)
        assert sum(map(len, await messages(client, count))) == count * 1_000_000
        await server.ready.wait()
        assert server.pressure[:2] == ["full", "ready"]


async def test_a_client_that_is_not_read_waits() -> None:
    async with a_pair() as (server, client):
        server.outlet.pause_reading()
        client.send(b"x")
        await client.drain(below=1)
        assert server.frames.empty()
        server.outlet.resume_reading()
        assert await server.frames.get() == b"x"


async def test_a_dropped_client_reads_the_end() -> None:
    async with a_pair() as (server, client):
        server.outlet.send(b"last words")
        server.outlet.drop()
        assert await messages(client, 1) == [b"last words"]
        assert list(await client.receive()) == []
        server.outlet.send(b"into the void")


async def test_pings_go_out_and_ask_for_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(websocket, "PING_INTERVAL", 0.01)
    async with a_pair() as (server, client):
        await asyncio.sleep(0.05)
        client.send(b"still here")
        assert await server.frames.get() == b"still here"


async def test_a_client_that_lives_survives_a_probe() -> None:
    async with a_pair() as (server, client):
        server.outlet.probe()
        server.outlet.probe()
        assert server.outlet.is_probed
        await eventually(lambda: not server.outlet.is_probed)
        client.send(b"still here")
        assert await server.frames.get() == b"still here"


async def test_a_client_that_takes_what_is_sent_survives_a_probe(monkeypatch: pytest.MonkeyPatch) -> None:
    async with a_pair() as (server, client):
        server.outlet.pause_reading()
        count = 0
        while not server.pressure:
            server.outlet.send(b"x" * 1_000_000)
            count += 1
            await asyncio.sleep(0)
        monkeypatch.setattr(websocket, "PROBE_SECONDS", 1.0)
        server.outlet.probe()
        assert sum(map(len, await messages(client, count))) == count * 1_000_000
        await eventually(lambda: not server.outlet.is_probed)
        server.outlet.resume_reading()
        client.send(b"still here")
        assert await server.frames.get() == b"still here"


async def test_a_client_that_shows_no_life_is_dropped_by_a_probe(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(websocket, "PROBE_SECONDS", 0.01)
    accepted: list[Listener] = []

    def accept(outlet: Socket) -> Listener:
        accepted.append(Listener(outlet))
        return accepted[0]

    endpoint = Endpoint(accept, lambda _: None, lambda: False)
    async with asyncio.timeout(PATIENCE), await listen("127.0.0.1", 0, endpoint) as server:
        reader, writer = await asyncio.open_connection("127.0.0.1", server.sockets[0].getsockname()[1])
        writer.write(UPGRADE)
        assert (await reader.readuntil(b"\r\n\r\n")).startswith(b"HTTP/1.1 101 ")
        accepted[0].outlet.probe()
        await accepted[0].lost.wait()
        writer.close()


async def test_the_kernel_is_told_to_notice_a_silent_end() -> None:
    async with a_pair() as (server, _):
        assert server.outlet._transport is not None
        tcp = server.outlet._transport.get_extra_info("socket")
        assert tcp.getsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE)
        for name, value in KEEPALIVE.items():
            assert tcp.getsockopt(socket.IPPROTO_TCP, getattr(socket, name)) == value


@pytest.mark.parametrize(
    ("refusal", "is_full", "status"),
    [("no token", False, HTTPStatus.UNAUTHORIZED), (None, True, HTTPStatus.SERVICE_UNAVAILABLE)],
)
async def test_who_may_not_come_in_is_told_why(refusal: str | None, is_full: bool, status: HTTPStatus) -> None:  # noqa: FBT001
    endpoint = Endpoint(Listener, lambda _: refusal, lambda: is_full)
    async with asyncio.timeout(PATIENCE), await listen("127.0.0.1", 0, endpoint) as server:
        port = server.sockets[0].getsockname()[1]
        with pytest.raises(HandshakeRefused) as caught:
            await dial(f"ws://127.0.0.1:{port}", {}, PATIENCE)
        assert caught.value.status == status


def masked(first: int, payload: bytes) -> bytes:
    """A client's frame, with this first byte."""
    mask = b"\x01\x02\x03\x04"
    return bytes((first, 0x80 | len(payload))) + mask + bytes(byte ^ mask[at % 4] for at, byte in enumerate(payload))


WHOLE = masked(0x81, b"whole")

RULES_BROKEN = {
    "reserved bit 1": masked(0xC1, b"x"),
    "reserved bit 2": masked(0xA1, b"x"),
    "reserved bit 3": masked(0x91, b"x"),
    "a continuation of nothing": masked(0x80, b"x"),
    "a continuation of nothing, not the last": masked(0x00, b"x") + masked(0x80, b"y"),
    "a message within a message": masked(0x01, b"x") + masked(0x81, b"y"),
    "a message within an empty one": masked(0x01, b"") + masked(0x81, b"y"),
}

NO_TEXT = {"text that is none": masked(0x81, b"\xff"), "text cut in two": masked(0x01, b"\xc3") + masked(0x80, b"x")}

BROKEN = [*((frames, 1002) for frames in RULES_BROKEN.values()), *((frames, 1007) for frames in NO_TEXT.values())]


@pytest.mark.parametrize(("frames", "code"), BROKEN, ids=[*RULES_BROKEN, *NO_TEXT])
async def test_a_client_that_breaks_the_rules_is_cut_off_and_not_heard(frames: bytes, code: int) -> None:
    accepted: list[Listener] = []

    def accept(outlet: Socket) -> Listener:
        accepted.append(Listener(outlet))
        return accepted[0]

    endpoint = Endpoint(accept, lambda _: None, lambda: False)
    async with asyncio.timeout(PATIENCE), await listen("127.0.0.1", 0, endpoint) as server:
        reader, writer = await asyncio.open_connection(*server.sockets[0].getsockname())
        writer.write(UPGRADE + WHOLE)
        await reader.readuntil(b"\r\n\r\n")
        writer.write(frames + WHOLE)
        rest = await reader.read()
        writer.close()
        await writer.wait_closed()
        await accepted[0].lost.wait()
    assert rest[:1] == b"\x88"  # close
    assert rest[2:4] == code.to_bytes(2, "big")
    heard = [accepted[0].frames.get_nowait() for _ in range(accepted[0].frames.qsize())]
    assert heard == [b"whole"]


async def begun(endpoint: Endpoint, *sent: bytes) -> bytes:
    """The head that a client reads which has sent this and nothing more, until it is told why it is cut off."""
    async with asyncio.timeout(PATIENCE), await listen("127.0.0.1", 0, endpoint) as server:
        reader, writer = await asyncio.open_connection(*server.sockets[0].getsockname())
        writer.write(UPGRADE)
        head = await reader.readuntil(b"\r\n\r\n")
        for each in sent:
            writer.write(each)
        with suppress(ConnectionResetError):  # it has sent more than was read
            assert (await reader.read())[2:4] in (b"", (1008).to_bytes(2, "big"))
        writer.close()
        return head


FRAGMENT = b"\x01\xff" + (100_000).to_bytes(8, "big") + bytes(100_004)
"""A frame of a message that goes on."""

PART = b"\x81\xff" + (10_000_000).to_bytes(8, "big") + bytes(300_000)
"""A frame that is not complete."""


@pytest.mark.parametrize("sent", [FRAGMENT, PART])
async def test_a_message_that_is_not_complete_in_time_costs_the_connection(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture, sent: bytes
) -> None:
    monkeypatch.setattr(connections, "INPUT_SECONDS", 0.05)
    monkeypatch.setattr(connections, "INPUT_RATE", 1 << 30)
    assert b" 101 " in await begun(Endpoint(Listener, lambda _: None, lambda: False), sent)
    assert "did not arrive completely in time" in caplog.text


EMPTY = b"\x01\x80" + bytes(4) + (b"\x00\x80" + bytes(4)) * 5000
"""Many frames of a message, with nothing in them."""


@pytest.mark.parametrize("sent", [FRAGMENT, PART, EMPTY])
async def test_unfinished_messages_have_a_limit_in_bytes(caplog: pytest.LogCaptureFixture, sent: bytes) -> None:
    few = connections.Connections(8, held_bytes=150_000)
    assert b" 101 " in await begun(Endpoint(Listener, lambda _: None, lambda: False, few), sent)
    assert "too many bytes of unfinished messages" in caplog.text
    assert len(few) == 0


async def test_connections_that_are_refused_or_over_are_not_counted() -> None:
    few = connections.Connections(8)
    endpoint = Endpoint(Listener, lambda header: None if header else "no token", lambda: False, few)
    async with asyncio.timeout(PATIENCE), await listen("127.0.0.1", 0, endpoint) as server:
        url = f"ws://127.0.0.1:{server.sockets[0].getsockname()[1]}"
        for _ in range(20):
            with pytest.raises(HandshakeRefused):
                await dial(url, {}, PATIENCE)
        clients = [await dial(url, {"Authorization": "Bearer ada"}, PATIENCE) for _ in range(7)]
        for client in clients:
            client.send(b"busy")
        await eventually(lambda: len(few) == 7)
        bobs = await dial(url, {"Authorization": "Bearer bob"}, PATIENCE)
        assert await clients[0].receive() == [], "ada has the most, and this is her oldest"
        for client in (*clients, bobs):
            await client.aclose()
        await eventually(lambda: len(few) == 0)
