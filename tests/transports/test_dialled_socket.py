import pytest

from codex_mcp.transports.dialled_socket import dial
from tests.support.patience import PATIENCE
from tests.transports.test_websocket import a_pair, messages


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
    long = bytes(range(256)) * (80 * 1024)  # 20 MiB; the server takes frames of 16
    async with a_pair() as (server, client):
        for message in (long, b"the next one"):
            client.send(message)
            assert await server.frames.get() == message
