"""A cable between a server and its database, which a test can pull out: nothing is lost, and nothing arrives."""

from __future__ import annotations

import asyncio
import contextlib
from typing import Self

from codex_mcp.base.tasks import TaskSet


class Cable:
    """`async with Cable(port) as cable:` leads from `cable.port` to that port."""

    def __init__(self, port: int) -> None:
        self._target = port
        self._tasks = TaskSet()
        self._server: asyncio.Server | None = None
        self._writers: set[asyncio.StreamWriter] = set()
        self._ways = {"there": asyncio.Event(), "back": asyncio.Event()}
        self.plug()

    async def __aenter__(self) -> Self:
        self._server = await asyncio.start_server(self._accepted, "127.0.0.1", 0)
        return self

    async def __aexit__(self, *_: object) -> None:
        assert self._server is not None
        self._server.close()
        self.break_all()
        await self._tasks.aclose()

    @property
    def port(self) -> int:
        """Where it begins."""
        assert self._server is not None
        found: int = self._server.sockets[0].getsockname()[1]
        return found

    def pull(self, *ways: str) -> None:
        """Let nothing arrive in these directions, `there` or `back`; in both, if none is named."""
        for way in ways or tuple(self._ways):
            self._ways[way].clear()

    def plug(self) -> None:
        """Let everything arrive that was sent meanwhile."""
        for way in self._ways.values():
            way.set()

    def break_all(self) -> None:
        """End all connections, with what is on its way."""
        for writer in self._writers:
            writer.transport.abort()

    async def _accepted(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._writers.add(writer)
        await self._ways["there"].wait()
        try:
            far_reader, far_writer = await asyncio.open_connection("127.0.0.1", self._target)
        except OSError:
            writer.transport.abort()
            return
        self._writers.add(far_writer)
        self._tasks.spawn(self._carry(reader, far_writer, self._ways["there"]), name="to the database")
        self._tasks.spawn(self._carry(far_reader, writer, self._ways["back"]), name="from the database")

    async def _carry(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, way: asyncio.Event) -> None:
        with contextlib.suppress(OSError):
            while data := await reader.read(1 << 16):
                await way.wait()
                writer.write(data)
                await writer.drain()
        self._writers.discard(writer)
        writer.close()
