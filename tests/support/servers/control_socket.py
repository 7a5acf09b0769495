"""The control socket, spoken to by hand, and the places of its files."""

import asyncio
import contextlib
import itertools
from collections.abc import AsyncIterator
from pathlib import Path

import msgspec

from codex_mcp.control.server import living_nodes
from codex_mcp.transports.local.sockets import dial
from tests.support.patience import PATIENCE
from tests.support.servers.mcp_server import Json
from tests.support.team.team_server import TeamServer

HELLO: Json = {"protocol": 1, "program": "test", "version": "0", "person": "mira"}


async def socket_of(server: TeamServer) -> Path:
    """The socket of the only living server of its folder, once it is there."""
    (node,) = await asyncio.to_thread(living_nodes, str(server.state_dir))
    path = server.state_dir / "nodes" / f"{node}.sock"
    await server.until(path.exists)
    return path


class RawControl:
    """One connection."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.reader = reader
        self.writer = writer
        self._ids = itertools.count(1)

    def send(self, method: str, params: object) -> int:
        """Send a request; its id."""
        number = next(self._ids)
        self.write(msgspec.json.encode({"jsonrpc": "2.0", "id": number, "method": method, "params": params}) + b"\n")
        return number

    def write(self, data: bytes) -> None:
        """Send bytes."""
        self.writer.write(data)

    def stop_reading(self) -> None:
        """Leave what the server sends to the kernel, until `read_on`."""
        self.writer.transport.pause_reading()  # type: ignore[attr-defined]

    def read_on(self) -> None:
        """Read again."""
        self.writer.transport.resume_reading()  # type: ignore[attr-defined]

    async def read(self) -> Json | None:
        """The next message; None at the end."""
        async with asyncio.timeout(PATIENCE):
            try:
                line = await self.reader.readline()
            except ConnectionError:
                return None
        message: Json | None = msgspec.json.decode(line) if line.endswith(b"\n") else None
        return message

    async def ask(self, method: str, params: object) -> Json:
        """Send a request; its answer."""
        number = self.send(method, params)
        while (message := await self.read()) is not None:
            if message.get("id") == number:
                return message
        raise AssertionError(f"no answer to {method}")


@contextlib.asynccontextmanager
async def raw_control(path: Path, hello: Json | None = HELLO) -> AsyncIterator[RawControl]:
    """A connection that has said hello, unless that is None."""
    opened = await dial(str(path))
    reader, writer = await asyncio.open_unix_connection(sock=opened, limit=1 << 26)
    client = RawControl(reader, writer)
    try:
        if hello is not None:
            assert "result" in await client.ask("control/hello", hello)
        yield client
    finally:
        writer.close()
        with contextlib.suppress(ConnectionError):
            await writer.wait_closed()
