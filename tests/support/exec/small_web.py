"""A small web server for tests: what each path answers stands in one table, byte for byte."""

import asyncio
import contextlib
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from ipaddress import ip_address
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat

from codex_mcp.base.tasks import TaskSet


@dataclass(slots=True)
class Visit:
    """One request, and the way back."""

    method: str
    path: str
    headers: dict[str, str]
    body: bytes
    _writer: asyncio.StreamWriter

    async def say(self, data: bytes) -> None:
        """Send some bytes."""
        self._writer.write(data)
        await self._writer.drain()

    async def answer(self, body: bytes, status: str = "200 OK", fields: str = "") -> None:
        """Send a whole answer, which says that the connection ends with it: no client may use it again."""
        head = f"HTTP/1.1 {status}\r\n{fields}content-length: {len(body)}\r\nconnection: close\r\n\r\n"
        await self.say(head.encode() + body)


Page = Callable[[Visit], Awaitable[None]]


@dataclass(slots=True)
class SmallWeb:
    """What it has seen, and where it is."""

    port: int = 0
    visits: list[Visit] = field(default_factory=list)

    def url(self, path: str) -> str:
        """The address of a page."""
        return f"http://127.0.0.1:{self.port}{path}"


async def _visit(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> Visit:
    line, *fields = (await reader.readuntil(b"\r\n\r\n")).decode().rstrip().split("\r\n")
    method, path, _ = line.split(" ")
    headers = {name.lower(): value for name, _, value in (text.partition(": ") for text in fields)}
    body = await reader.readexactly(int(headers.get("content-length", "0")))
    return Visit(method, path, headers, body, writer)


@contextlib.asynccontextmanager
async def small_web(pages: Mapping[str, Page], tls: ssl.SSLContext | None = None) -> AsyncIterator[SmallWeb]:
    """Serve; every connection brings one request."""
    web, tasks = SmallWeb(), TaskSet()

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            visit = await _visit(reader, writer)
            web.visits.append(visit)
            if visit.path in pages:
                await pages[visit.path](visit)
        except (OSError, asyncio.IncompleteReadError):
            pass  # the visitor has gone
        finally:
            writer.close()
            with contextlib.suppress(OSError):
                await writer.wait_closed()

    def knock(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        tasks.spawn(serve(reader, writer), name="visit")

    listener = await asyncio.start_server(knock, "127.0.0.1", 0, ssl=tls)
    web.port = listener.sockets[0].getsockname()[1]
    try:
        yield web
    finally:
        listener.close()
        await tasks.aclose()
        await listener.wait_closed()
        if tls is not None and (handshakes := _handshakes()):
            await asyncio.wait(handshakes)


def _handshakes() -> list[asyncio.Task[object]]:
    """The handshakes with clients that may have refused our certificate, and gone; asyncio does not wait for them."""
    return [task for task in asyncio.all_tasks() if "_accept_connection2" in repr(task.get_coro())]


def own_certificate(file: Path) -> ssl.SSLContext:
    """A certificate and key for a TLS server on this machine; a client that trusts the file accepts it."""
    key, day = ec.generate_private_key(ec.SECP256R1()), timedelta(days=1)
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "tests")])
    certificate = (
        x509.CertificateBuilder(name, name, key.public_key(), x509.random_serial_number())
        .not_valid_before(datetime.now(UTC) - day)
        .not_valid_after(datetime.now(UTC) + day)
        .add_extension(x509.SubjectAlternativeName([x509.IPAddress(ip_address("127.0.0.1"))]), critical=False)
        .sign(key, SHA256())
    )
    private = key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
    file.write_bytes(certificate.public_bytes(Encoding.PEM) + private)
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    context.load_cert_chain(file)
    return context
