"""The client connections of a scripted model.

Plain asyncio and not uvicorn: a connection must break at an exact point of a stream, a waiting answer must end as soon
as its client disconnects, closing must be immediate, and the import must cost nothing.
"""

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from typing import Final, cast

from codex_mcp.base.tasks import TaskSet
from codex_mcp.scripted_model.actions import error_body
from codex_mcp.scripted_model.http import LAST_CHUNK, BadHttp, HttpRequest, chunk, head, take_request, whole

HOST: Final = "127.0.0.1"

Answerer = Callable[[HttpRequest, "Connection"], Awaitable[None]]


class Connection(asyncio.Protocol):
    """Reads requests one after the other; each is answered before the next is read."""

    def __init__(self, answerer: Answerer, tasks: TaskSet, connections: set["Connection"]) -> None:
        self._answerer = answerer
        self._tasks = tasks
        self._connections = connections
        self._buffer = bytearray()
        self._task: asyncio.Task[None] | None = None
        self._transport: asyncio.Transport | None = None
        self._writable = asyncio.Event()
        self._writable.set()
        self.closed = asyncio.Event()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        # Every TCP transport is one; uvloop's is not a subclass, so isinstance does not work.
        self._transport = cast(asyncio.Transport, transport)
        self._connections.add(self)

    def data_received(self, data: bytes) -> None:
        self._buffer += data
        if self._task is None:
            self._next()

    def connection_lost(self, exc: Exception | None) -> None:
        """Cancel the answer: the connection is closed."""
        self._transport = None
        self._connections.discard(self)
        self.closed.set()
        if self._task is not None:
            self._task.cancel()

    def pause_writing(self) -> None:
        self._writable.clear()

    def resume_writing(self) -> None:
        self._writable.set()

    async def answer(self, status: int, body: bytes, headers: Mapping[str, str] | None = None) -> None:
        await self._send(whole(status, body, headers))

    async def begin_stream(self, headers: Mapping[str, str] | None = None) -> None:
        fields = {
            **(headers or {}),
            "content-type": "text/event-stream",
            "cache-control": "no-cache",
            "transfer-encoding": "chunked",
        }
        await self._send(head(200, fields))

    async def send(self, data: bytes) -> None:
        """Send a part of the stream; an empty one is skipped, because it would mean the end."""
        if data:
            await self._send(chunk(data))

    async def end_stream(self) -> None:
        await self._send(LAST_CHUNK)

    def abort(self) -> None:
        if self._transport is not None:
            self._transport.abort()

    async def hang_up(self) -> None:
        """Break the connection after everything sent has left: the client must see the partial answer."""
        if self._transport is not None:
            self._transport.close()
        await self.closed.wait()

    async def _send(self, data: bytes) -> None:
        if self._transport is None:
            raise ConnectionResetError("cannot send: the client is gone")
        self._transport.write(data)
        await self._writable.wait()

    def _next(self) -> None:
        try:
            request = take_request(self._buffer)
        except BadHttp as exc:
            if self._transport is not None:
                self._transport.write(
                    whole(exc.status, error_body(exc.status, str(exc), None), {"connection": "close"})
                )
                self._transport.close()
            return
        if request is not None and self._transport is not None:
            self._task = self._tasks.spawn(self._answer(request), name="scripted model: answer")

    async def _answer(self, request: HttpRequest) -> None:
        await self._answerer(request, self)
        self._task = None
        self._next()


class Listening:
    """The connections to a port of this machine."""

    def __init__(self, answerer: Answerer, port: int = 0) -> None:
        self._answerer = answerer
        self.port = port
        """The one that was chosen, once it is open."""
        self._tasks = TaskSet()
        self._connections: set[Connection] = set()
        self._server: asyncio.Server | None = None

    async def open(self) -> None:
        """Raises OSError if the port is taken."""
        loop = asyncio.get_running_loop()
        self._server = await loop.create_server(
            lambda: Connection(self._answerer, self._tasks, self._connections), HOST, self.port
        )
        self.port = self._server.sockets[0].getsockname()[1]

    async def aclose(self) -> None:
        """Stop listening, and break every connection at once. May be called twice."""
        server, self._server = self._server, None
        if server is None:
            return
        server.close()
        connections = list(self._connections)
        for connection in connections:
            connection.abort()
        await self._tasks.aclose()
        for connection in connections:
            await connection.closed.wait()
        await server.wait_closed()
