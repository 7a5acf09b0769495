"""TLS begins under our own budgets: whoever connects and says nothing does not stay, and takes nobody's place."""

import asyncio
import contextlib
import socket
import ssl
from collections.abc import AsyncIterator
from functools import partial
from pathlib import Path

import pytest
import uvicorn

from codex_mcp.base.tasks import TaskSet
from codex_mcp.transports import first_bytes
from codex_mcp.transports.connections import Connections
from codex_mcp.transports.first_bytes import start_tls_ourselves
from codex_mcp.transports.web_limits import LimitedHttp, WebLimits
from tests.support.exec.small_web import own_certificate
from tests.support.http.client import connect
from tests.support.patience import PATIENCE
from tests.transports.test_web_limits import hello

FEW = 16
"""Connections."""

ASKED = b"GET / HTTP/1.1\r\nhost: 127.0.0.1\r\n\r\n"


@contextlib.asynccontextmanager
async def encrypted(folder: Path) -> AsyncIterator[tuple[int, ssl.SSLContext]]:
    """Serve over TLS with few connections: the port, and what a client trusts."""
    certificate = folder / "server.pem"
    own_certificate(certificate)
    limits = WebLimits(stall_timeout=PATIENCE, connections=Connections(FEW))
    config = uvicorn.Config(
        hello,
        http=partial(LimitedHttp, limits=limits),  # type: ignore[arg-type]
        loop="none",
        lifespan="off",
        log_config=None,
        ssl_certfile=certificate,
    )
    config.load()
    start_tls_ourselves(config, limits.connections)
    server = uvicorn.Server(config)
    tasks = TaskSet()
    with socket.create_server(("127.0.0.1", 0)) as listener:
        serving = tasks.spawn(server._serve([listener]), name="listener")
        try:
            yield listener.getsockname()[1], ssl.create_default_context(cafile=certificate)
        finally:
            server.should_exit = True
            await serving


async def answered(port: int, trusting: ssl.SSLContext) -> bytes:
    """The first line of an answer over TLS."""
    async with asyncio.timeout(PATIENCE):
        reader, writer = await asyncio.open_connection("127.0.0.1", port, ssl=trusting)
        writer.write(ASKED)
        line = await reader.readline()
        writer.transport.abort()
        return line


async def test_silent_connections_take_nobodys_place(tmp_path: Path) -> None:
    async with encrypted(tmp_path) as (port, trusting), contextlib.AsyncExitStack() as crowd:
        silent = [await crowd.enter_async_context(connect(port)) for _ in range(4 * FEW)]
        assert await answered(port, trusting) == b"HTTP/1.1 200 OK\r\n"
        tasks = TaskSet()
        ended = [tasks.spawn(wire.read_to_the_end(), name="end of a silent connection") for wire in silent]
        await asyncio.wait(ended, return_when=asyncio.FIRST_COMPLETED)
        await tasks.aclose()


async def test_a_handshake_that_does_not_come_is_not_waited_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(first_bytes, "HANDSHAKE_SECONDS", 0.05)
    async with encrypted(tmp_path) as (port, _), connect(port) as wire:
        with contextlib.suppress(ConnectionError):
            assert await wire.read_to_the_end() == b""


async def test_what_is_no_tls_is_hung_up_on(tmp_path: Path) -> None:
    async with encrypted(tmp_path) as (port, trusting), connect(port) as wire:
        wire.send_raw(ASKED)
        with contextlib.suppress(ConnectionError):
            await wire.read_to_the_end()
        assert await answered(port, trusting) == b"HTTP/1.1 200 OK\r\n"


async def test_a_request_that_comes_with_the_end_of_the_handshake_is_answered(tmp_path: Path) -> None:
    async with encrypted(tmp_path) as (port, trusting), connect(port) as wire:
        incoming, outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
        tls = trusting.wrap_bio(incoming, outgoing, server_hostname="127.0.0.1")
        while True:
            with contextlib.suppress(ssl.SSLWantReadError):
                tls.do_handshake()
                break
            wire.send_raw(outgoing.read())
            incoming.write(await wire.read_some())
        tls.write(ASKED)
        wire.send_raw(outgoing.read())
        said = b""
        while not said:
            incoming.write(await wire.read_some())
            with contextlib.suppress(ssl.SSLWantReadError):
                said = tls.read()
        assert said.startswith(b"HTTP/1.1 200 OK\r\n")
