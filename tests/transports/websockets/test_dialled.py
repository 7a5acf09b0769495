import asyncio
import gc
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from pathlib import Path

import pytest
from websockets.server import ServerProtocol

from codex_mcp.transports.local import sockets as local_sockets
from codex_mcp.transports.websockets import dialled
from codex_mcp.transports.websockets.dialled import dial
from codex_mcp.transports.websockets.socket import MAX_PONGS
from tests.support.patience import PATIENCE
from tests.transports.websockets.test_accepted import a_pair, messages


async def test_what_is_no_websocket_cannot_be_dialled() -> None:
    with pytest.raises(ValueError, match="not a WebSocket URL"):
        await dial("http://127.0.0.1", {}, PATIENCE)
    with pytest.raises(ConnectionRefusedError):
        await dial("ws://127.0.0.1:1", {}, PATIENCE)


async def test_what_comes_can_be_waited_for_and_what_leaves_too() -> None:
    async with a_pair() as (server, client):
        client.send(b"a question" * 100_000)
        await client.drain(below=1)
        assert len(await server.frames.get()) == 1_000_000
        server.outlet.send(b"an answer")
        assert await messages(client, 1) == [b"an answer"]


async def test_a_socket_whose_other_end_is_gone_says_nothing_more() -> None:
    async with a_pair() as (server, client):
        server.outlet.drop()
        assert list(await client.receive()) == []
        assert list(await client.receive()) == []
        client.send(b"into the void")
        await client.drain(below=1)


async def test_a_message_longer_than_a_frame_may_be_is_sent_in_pieces() -> None:
    long = bytes(range(128)) * (160 * 1024)  # 20 MiB; the server takes frames of 16
    async with a_pair() as (server, client):
        for message in (long, b"the next one"):
            client.send(message)
            assert await server.frames.get() == message


@asynccontextmanager
async def sends_raw(data: bytes) -> AsyncIterator[str]:
    """The address of a server that accepts one WebSocket and sends these bytes."""
    over = asyncio.Event()

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        protocol = ServerProtocol()
        protocol.receive_data(await reader.readuntil(b"\r\n\r\n"))
        (request,) = protocol.events_received()
        protocol.send_response(protocol.accept(request))  # type: ignore[arg-type]
        writer.writelines([*protocol.data_to_send(), data])
        with suppress(ConnectionError):
            await reader.read()
        writer.close()
        over.set()

    async with await asyncio.start_server(serve, "127.0.0.1", 0) as server:
        yield f"ws://127.0.0.1:{server.sockets[0].getsockname()[1]}"
        await over.wait()


async def test_a_frame_that_is_too_long_ends_the_connection_without_a_traceback(
    caplog: pytest.LogCaptureFixture,
) -> None:
    async with asyncio.timeout(PATIENCE), sends_raw(b"\x82\x7f" + (150_000_000).to_bytes(8, "big")) as url:
        client = await dial(url, {}, PATIENCE)
        assert list(await client.receive()) == []
        await client.aclose()
        del client
        gc.collect()
        await asyncio.sleep(0)
    assert "never retrieved" not in caplog.text


@pytest.mark.parametrize("part", [b"", b"xx"])
async def test_a_message_that_does_not_end_ends_the_connection(monkeypatch: pytest.MonkeyPatch, part: bytes) -> None:
    monkeypatch.setattr(dialled, "DIALLED_MESSAGE_BYTES", 100_000)
    frame = bytes([len(part)]) + part
    async with asyncio.timeout(PATIENCE), sends_raw(b"\x02" + frame + (b"\x00" + frame) * 5000) as url:
        client = await dial(url, {}, PATIENCE)
        assert list(await client.receive()) == []
        await client.aclose()


async def test_pings_of_one_who_reads_nothing_are_not_all_answered() -> None:
    ping, end = b"\x89\x7d" + bytes(125), b"\x81\x03end"
    is_over = asyncio.Event()

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        protocol = ServerProtocol()
        protocol.receive_data(await reader.readuntil(b"\r\n\r\n"))
        (request,) = protocol.events_received()
        protocol.send_response(protocol.accept(request))  # type: ignore[arg-type]
        writer.writelines([*protocol.data_to_send(), ping])
        await writer.drain()
        assert (await reader.readexactly(6 + 125))[:2] == b"\x8a\xfd"  # the first one is answered
        writer.transport.pause_reading()  # type: ignore[attr-defined]
        for _ in range(1000):
            writer.write(ping * 200)
            await writer.drain()
        writer.write(end)
        await is_over.wait()
        writer.transport.abort()

    async with await asyncio.start_server(serve, "127.0.0.1", 0) as server, asyncio.timeout(PATIENCE):
        host, port = server.sockets[0].getsockname()
        client = await dial(f"ws://{host}:{port}", {}, PATIENCE)
        assert list(await client.receive()) == [b"end"]
        assert client.unsent < 2 * MAX_PONGS
        is_over.set()
        assert list(await client.receive()) == []
        await client.aclose()


async def test_a_unix_socket_that_is_connected_can_be_dialled(tmp_path: Path) -> None:
    over = asyncio.Event()
    listening = socket.socket(socket.AF_UNIX)
    listening.bind(str(tmp_path / "s"))

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        protocol = ServerProtocol()
        protocol.receive_data(await reader.readuntil(b"\r\n\r\n"))
        (request,) = protocol.events_received()
        protocol.send_response(protocol.accept(request))  # type: ignore[arg-type]
        protocol.send_text(b"hello")
        writer.writelines(protocol.data_to_send())
        await reader.read(1)
        writer.close()
        over.set()

    async with await asyncio.start_unix_server(serve, sock=listening):
        opened = await local_sockets.dial(str(tmp_path / "s"))
        client = await dial("ws://anyone/", {}, PATIENCE, over=opened)
        assert await messages(client, 1) == [b"hello"]
        await client.aclose()
        await over.wait()
