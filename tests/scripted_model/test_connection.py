"""A connection answers requests in order, and a client that leaves ends its answer."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from codex_mcp.base.tasks import TaskSet
from codex_mcp.scripted_model.connection import Connection
from codex_mcp.scripted_model.http import HttpRequest
from tests.support.http.client import connect
from tests.support.patience import PATIENCE


class Listener:
    """A server whose every answer repeats the path, and which can be told to wait first."""

    def __init__(self) -> None:
        self.connections: set[Connection] = set()
        self.entered = asyncio.Event()
        self.cancelled = asyncio.Event()
        self.port = 0

    async def answer(self, request: HttpRequest, connection: Connection) -> None:
        if request.path == "/wait":
            self.entered.set()
            try:
                await asyncio.Event().wait()
            finally:
                self.cancelled.set()
        elif request.path == "/much":
            await connection.begin_stream()
            for _ in range(100):
                await connection.send(b"x" * 100_000)
            await connection.end_stream()
        else:
            await connection.answer(200, request.path.encode())


@asynccontextmanager
async def listening() -> AsyncIterator[Listener]:
    listener = Listener()
    tasks = TaskSet()
    loop = asyncio.get_running_loop()
    server = await loop.create_server(lambda: Connection(listener.answer, tasks, listener.connections), "127.0.0.1", 0)
    listener.port = server.sockets[0].getsockname()[1]
    try:
        yield listener
    finally:
        server.close()
        for connection in list(listener.connections):
            connection.abort()
            await connection.closed.wait()
        await tasks.aclose()
        await server.wait_closed()


async def test_requests_that_come_together_are_answered_in_order() -> None:
    async with listening() as listener, connect(listener.port) as wire:
        for path in ("/a", "/b", "/c"):
            wire.send("GET", path)
        assert [(await wire.read_answer()).body for _ in range(3)] == [b"/a", b"/b", b"/c"]


async def test_an_answer_larger_than_any_buffer_arrives_whole() -> None:
    async with listening() as listener, connect(listener.port) as wire:
        answer = await wire.ask("GET", "/much")
        assert len(answer.body) == 10_000_000


async def test_a_client_that_leaves_ends_its_answer_at_once() -> None:
    async with listening() as listener:
        async with connect(listener.port) as wire:
            wire.send("GET", "/wait")
            await asyncio.wait_for(listener.entered.wait(), PATIENCE)
        await asyncio.wait_for(listener.cancelled.wait(), PATIENCE)


async def test_bytes_that_are_no_request_are_refused_and_the_client_is_sent_away() -> None:
    async with listening() as listener, connect(listener.port) as wire:
        wire.send_raw(b"hello\r\n\r\n")
        assert (await wire.read_to_the_end()).startswith(b"HTTP/1.1 400 Bad Request\r\n")


async def test_sending_to_a_client_that_is_gone_is_a_connection_error() -> None:
    async with listening() as listener:
        async with connect(listener.port) as wire:
            await wire.ask("GET", "/a")
            [connection] = listener.connections
        await asyncio.wait_for(connection.closed.wait(), PATIENCE)
        with pytest.raises(ConnectionError, match="cannot send: the client is gone"):
            await connection.send(b"x")
