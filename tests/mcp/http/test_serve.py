"""Where it listens, and where it refuses to. Serving and its end are in tests/acceptance/test_http_breaks.py."""

import asyncio
import os
import signal
import socket
import ssl
from pathlib import Path

import pytest

from codex_mcp.base.errors import Refused
from codex_mcp.mcp.http.serve import serve_http
from tests.support.exec.small_web import own_certificate
from tests.support.http.endpoints import KEY
from tests.support.patience import PATIENCE
from tests.support.servers.mcp_session import no_codex
from tests.support.settings import make_settings


def never(url: str) -> None:
    raise AssertionError(f"it serves at {url}")


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "192.0.2.1"])
async def test_another_address_than_loopback_is_refused_without_tokens(tmp_path: Path, host: str) -> None:
    settings = make_settings(codex_home=str(tmp_path), host=host, port=0)
    with pytest.raises(Refused, match=r"--tokens FILE, or listen on 127\.0\.0\.1"):
        await serve_http(settings, no_codex, KEY, never)


async def test_a_port_in_use_is_told(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        with pytest.raises(Refused, match=f"cannot listen on 127.0.0.1 port {port}: Address already in use"):
            await serve_http(make_settings(codex_home=str(tmp_path), port=port), no_codex, KEY, never)


async def test_owners_that_cannot_be_read_are_named(tmp_path: Path) -> None:
    (tmp_path / "codex-mcp" / "owners.db").mkdir(parents=True)
    with pytest.raises(Refused, match=r"cannot read thread owners in .*owners\.db: .*; repair or restore the file"):
        await serve_http(make_settings(codex_home=str(tmp_path), port=0), no_codex, KEY, never)


async def test_a_name_that_leads_nowhere_is_told(tmp_path: Path) -> None:
    token = tmp_path / "tokens"
    token.write_text("ada 0123456789abcdef\n")
    settings = make_settings(codex_home=str(tmp_path), host="no-such-host.invalid", port=0, tokens=str(token))
    with pytest.raises(Refused, match=r"cannot listen on no-such-host\.invalid port 0"):
        await serve_http(settings, no_codex, KEY, never)


async def test_with_a_certificate_it_speaks_https(tmp_path: Path) -> None:
    certificate = tmp_path / "server.pem"
    own_certificate(certificate)
    served: asyncio.Queue[str] = asyncio.Queue()
    settings = make_settings(codex_home=str(tmp_path), port=0, tls_cert=str(certificate))
    async with asyncio.timeout(PATIENCE), asyncio.TaskGroup() as tasks:
        tasks.create_task(serve_http(settings, no_codex, KEY, served.put_nowait))
        url = await served.get()
        assert url.startswith("https://127.0.0.1:")
        trusting = ssl.create_default_context(cafile=certificate)
        reader, writer = await asyncio.open_connection("127.0.0.1", int(url.rpartition(":")[2]), ssl=trusting)
        writer.write(b"GET /readyz HTTP/1.0\r\nHost: 127.0.0.1\r\n\r\n")
        assert (await reader.read()).endswith(b"ready\n")
        writer.close()
        await writer.wait_closed()
        os.kill(os.getpid(), signal.SIGTERM)


@pytest.mark.parametrize("broken", ["missing", "empty", "another's key", "without a key"])
async def test_a_certificate_that_cannot_be_used_is_told_before_it_serves(tmp_path: Path, broken: str) -> None:
    certificate, other, tokens = tmp_path / "server.pem", tmp_path / "other.pem", tmp_path / "tokens"
    own_certificate(certificate)
    own_certificate(other)
    tokens.write_text("ada 0123456789abcdef\n")
    key: Path | None = other
    match broken:
        case "missing":
            certificate.unlink()
        case "empty":
            certificate.write_bytes(b"")
        case "without a key":
            certificate.write_bytes(certificate.read_bytes().partition(b"-----BEGIN PRIVATE")[0])
            key = None
    settings = make_settings(
        codex_home=str(tmp_path),
        port=0,
        tokens=str(tokens),
        tls_cert=str(certificate),
        tls_key=str(key) if key else None,
    )
    with pytest.raises(Refused, match=f"cannot speak HTTPS with the certificate {certificate} and the key {key or ''}"):
        await serve_http(settings, no_codex, KEY, never)


async def test_a_key_without_a_certificate_is_told(tmp_path: Path) -> None:
    settings = make_settings(codex_home=str(tmp_path), port=0, tls_key="/key.pem")
    with pytest.raises(Refused, match=r"with the key /key\.pem alone: give --tls-cert FILE as well"):
        await serve_http(settings, no_codex, KEY, never)
