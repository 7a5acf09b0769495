import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from codex_mcp.transports import first_bytes
from codex_mcp.transports.connections import Connections
from codex_mcp.transports.first_bytes import MAX_HEAD_BYTES, FirstBytes, answer_to
from tests.support.patience import PATIENCE

GET = b"GET /any HTTP/1.1\r\nHost: x\r\n\r\nand more"


class Requested:
    """Remembers what it is handed."""

    def __init__(self) -> None:
        self.handed: list[tuple[bytes, bytes]] = []

    def __call__(self, _transport: asyncio.Transport, head: bytes, came: bytes) -> None:
        self.handed.append((head, came))


class Wire(asyncio.Transport):
    """What a connection was told, without a connection."""

    def __init__(self) -> None:
        super().__init__()
        self.protocol: asyncio.BaseProtocol | None = None
        self.written = b""
        self.is_closed = False

    def set_protocol(self, protocol: asyncio.BaseProtocol) -> None:
        self.protocol = protocol

    def write(self, data: bytes | bytearray | memoryview) -> None:
        self.written += bytes(data)

    def is_closing(self) -> bool:
        return self.is_closed

    def close(self) -> None:
        self.is_closed = True

    abort = close


@given(st.lists(st.integers(0, len(GET)), max_size=6))
async def test_a_websocket_gets_every_byte_however_they_come(cuts: list[int]) -> None:
    requested, wire = Requested(), Wire()
    first = FirstBytes(requested, Connections(8))
    first.connection_made(wire)
    places = [0, *sorted(cuts), len(GET)]
    directly = b""
    for start, end in pairwise(places):
        if requested.handed:
            directly += GET[start:end]  # they come to the socket from here on
        elif start < end:
            first.data_received(GET[start:end])
    first.connection_lost(None)
    ((head, came),) = requested.handed
    assert head.endswith(b"\r\n\r\n")
    assert head + came + directly == GET
    assert wire.written == b""


@asynccontextmanager
async def knocking() -> AsyncIterator[tuple[asyncio.StreamReader, asyncio.StreamWriter]]:
    """A connection to a server that has no WebSockets."""
    loop = asyncio.get_running_loop()
    async with (
        asyncio.timeout(PATIENCE),
        await loop.create_server(lambda: FirstBytes(Requested(), Connections(8)), "127.0.0.1") as server,
    ):
        reader, writer = await asyncio.open_connection("127.0.0.1", server.sockets[0].getsockname()[1])
        try:
            yield reader, writer
        finally:
            writer.close()
            await writer.wait_closed()


async def test_any_other_request_is_answered_and_that_is_all() -> None:
    async with knocking() as (reader, writer):
        writer.write(b"HEAD /readyz HTTP/1.1\r\nHost: x")
        writer.write(b"\r\n\r\nGET / HTTP/1.1\r\n\r\n")
        assert await reader.read() == b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\nconnection: close\r\n\r\n"


async def test_a_head_without_an_end_is_not_kept() -> None:
    async with knocking() as (reader, writer):
        writer.write(b"POST / HTTP/1.1\r\n" + b"x" * MAX_HEAD_BYTES)
        with suppress(ConnectionResetError):
            assert await reader.read() == b""


async def test_who_says_nothing_does_not_stay(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(first_bytes, "HEAD_SECONDS", 0.01)
    async with knocking() as (reader, _):
        assert await reader.read() == b""


@pytest.mark.parametrize(
    ("head", "status"),
    [
        (b"GET /readyz HTTP/1.0", b"200"),
        (b"HEAD /readyz?a=1 HTTP/1.1\r\nHost: x", b"200"),
        (b"POST /readyz HTTP/1.1", b"405"),
        (b"FOO /readyz HTTP/1.1", b"405"),
        (b"POST /readyz HTTP/1.1\r\nORIGIN: null", b"403"),
        (b"HEAD / HTTP/1.1", b"405"),
        (b"POST /other HTTP/1.1", b"404"),
        (b"HEAD /readyz/ HTTP/1.1", b"404"),
        (b"hello", b"400"),
        (b"", b"400"),
        (b"GET / HTTP/2", b"400"),
    ],
)
def test_a_request_that_is_no_get_is_told_what_it_may(head: bytes, status: bytes) -> None:
    assert answer_to(head).startswith(b"HTTP/1.1 " + status)
    assert (b"allow: GET,HEAD" in answer_to(head)) == (status == b"405" and b"/readyz" in head)


@given(st.binary(max_size=100))
def test_whatever_is_said_gets_an_answer(head: bytes) -> None:
    assert answer_to(head).endswith(b"content-length: 0\r\nconnection: close\r\n\r\n")
