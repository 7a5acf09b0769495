"""The real server as a child, and blocking sockets to it: for tests that run hundreds of small, odd conversations."""

import asyncio
import re
import signal
import socket
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

import msgspec

from tests.support.http.http_server import ChildServer, http_server
from tests.support.http.mcp_client import Json
from tests.support.patience import PATIENCE
from tests.support.servers.mcp_server import TOUR, Setup

TOKEN = "a-token-that-is-long-enough"


@dataclass(frozen=True, slots=True)
class Reply:
    """One answer, or as much of it as came before the server hung up."""

    status: int
    headers: dict[str, str]
    body: bytes

    @property
    def error(self) -> Json:
        """The error of a JSON-RPC answer."""
        error: Json = msgspec.json.decode(self.body)["error"]
        return error


NOTHING = Reply(0, {}, b"")
"""The server hung up without a word."""


@dataclass(frozen=True, slots=True)
class RawServer:
    """A server that listens, and its log."""

    port: int
    pid: int
    setup: Setup

    @contextmanager
    def connection(self) -> Iterator[socket.socket]:
        """A connection."""
        with socket.create_connection(("127.0.0.1", self.port), PATIENCE) as opened:
            yield opened

    def say(self, data: bytes) -> Reply:
        """Send these bytes, and read one answer."""
        with self.connection() as opened:
            with suppress(ConnectionError):
                opened.sendall(data)
            return read_reply(opened)

    def ask(self, method: str, path: str, body: bytes = b"", headers: dict[str, str] | None = None) -> Reply:
        """Send one request, and read its answer."""
        return self.say(self.written(method, path, body, headers))

    def written(self, method: str, path: str, body: bytes = b"", headers: dict[str, str] | None = None) -> bytes:
        """The bytes of a request by somebody who may come in."""
        fields = {
            "host": f"127.0.0.1:{self.port}",
            "authorization": f"Bearer {TOKEN}",
            "content-type": "application/json",
            "content-length": str(len(body)),
            **(headers or {}),
        }
        lines = [f"{method} {path} HTTP/1.1", *(f"{name}: {text}" for name, text in fields.items()), "", ""]
        return "\r\n".join(lines).encode("latin-1") + body

    def check(self) -> None:
        """It answers, and nothing has gone wrong that it did not expect."""
        assert self.ask("GET", "/readyz").status == 200
        path = self.setup.codex_home / "log/codex-rmcp.log"
        log = path.read_text() if path.exists() else ""
        # With this one the WebSocket library says that a client's text was no UTF-8, which is as it should be.
        log = re.sub(r".*Invalid UTF-8 sequence received from client\.\n    Traceback", "", log)
        assert "Traceback" not in log, log[log.index("Traceback") - 500 :][:3000]


def read_reply(opened: socket.socket) -> Reply:
    """Read one answer; of a stream, what came with its head."""
    data = b""
    with suppress(ConnectionError):
        while b"\r\n\r\n" not in data and (more := opened.recv(65536)):
            data += more
        head, _, body = data.partition(b"\r\n\r\n")
        lines = head.decode("latin-1").split("\r\n")
        headers = {name.lower(): text for name, _, text in (line.partition(": ") for line in lines[1:])}
        while len(body) < int(headers.get("content-length", "0")) and (more := opened.recv(65536)):
            body += more
        found = re.fullmatch(r"HTTP/1\.1 (\d{3}) .*", lines[0])
        return NOTHING if found is None else Reply(int(found[1]), headers, body)
    return NOTHING


@contextmanager
def raw_server(folder: Path, *flags: str) -> Iterator[RawServer]:
    """Start the server, with one token; end it, and see that it ends well."""
    tokens = folder / "tokens"
    tokens.write_text(f"tester {TOKEN}\n")
    setup = Setup(folder, flags=["--scripted", str(TOUR), "--tokens", str(tokens), *flags])
    with asyncio.Runner() as runner:
        server = runner.run(_entered(http_server(setup)))
        try:
            yield RawServer(server.port, server.process.pid, setup)
        finally:
            runner.run(_left(server))


async def _entered(server: ChildServer) -> ChildServer:
    return await server.__aenter__()


async def _left(server: ChildServer) -> None:
    await server.__aexit__(None, None, None)
    assert server.process.returncode in (0, -signal.SIGINT, 130), server.stderr
