"""A bare HTTP client for tests: one connection, no library between the test and the bytes."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass

from tests.support.patience import PATIENCE


@dataclass(frozen=True, slots=True)
class Answer:
    """One whole answer."""

    status: int
    headers: dict[str, str]
    body: bytes


class Wire:
    """One connection to a server on this machine."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader = reader
        self._writer = writer

    def send(self, method: str, path: str, body: bytes = b"", headers: dict[str, str] | None = None) -> None:
        """Send a request, and wait for nothing."""
        fields = {"host": "test", "content-length": str(len(body)), **(headers or {})}
        lines = [f"{method} {path} HTTP/1.1", *(f"{key}: {value}" for key, value in fields.items()), "", ""]
        self.send_raw("\r\n".join(lines).encode() + body)

    def send_raw(self, data: bytes) -> None:
        """Send any bytes."""
        self._writer.write(data)

    async def drained(self) -> None:
        """Until what was sent has left this process, but for some kilobytes."""
        await self._writer.drain()

    async def read_head(self) -> tuple[int, dict[str, str]]:
        """Read status and headers."""
        async with asyncio.timeout(PATIENCE):
            first, *lines = (await self._reader.readuntil(b"\r\n\r\n")).decode().strip().split("\r\n")
        pairs = (line.partition(": ") for line in lines)
        return int(first.split(" ")[1]), {key.lower(): value for key, _, value in pairs}

    async def read_chunk(self) -> bytes:
        """Read one chunk; empty at the end."""
        async with asyncio.timeout(PATIENCE):
            size = int(await self._reader.readuntil(b"\r\n"), 16)
            return (await self._reader.readexactly(size + 2))[:-2]

    async def read_answer(self) -> Answer:
        """Read a whole answer, streamed or not."""
        status, headers = await self.read_head()
        if headers.get("transfer-encoding") != "chunked":
            return Answer(status, headers, await self.read_body(headers))
        body = b""
        while data := await self.read_chunk():
            body += data
        return Answer(status, headers, body)

    async def read_body(self, headers: dict[str, str]) -> bytes:
        """The body of an answer that is not streamed."""
        async with asyncio.timeout(PATIENCE):
            return await self._reader.readexactly(int(headers["content-length"]))

    async def ask(self, method: str, path: str, body: bytes = b"", headers: dict[str, str] | None = None) -> Answer:
        """Send a request and read its answer."""
        self.send(method, path, body, headers)
        return await self.read_answer()

    async def read_some(self) -> bytes:
        """What has arrived, at least one byte unless the server hangs up."""
        async with asyncio.timeout(PATIENCE):
            return await self._reader.read(1 << 16)

    async def read_to_the_end(self) -> bytes:
        """Everything until the server hangs up."""
        async with asyncio.timeout(PATIENCE):
            return await self._reader.read()


@asynccontextmanager
async def connect(port: int) -> AsyncIterator[Wire]:
    """Open a connection for the length of a test."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    try:
        yield Wire(reader, writer)
    finally:
        writer.transport.abort()
        with suppress(ConnectionError):
            await writer.wait_closed()
