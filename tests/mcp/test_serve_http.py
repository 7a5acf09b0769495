"""Where it listens, and where it refuses to. Serving and its end are in tests/acceptance/test_http_breaks.py."""

import socket
from pathlib import Path

import pytest

from codex_mcp.base.errors import Refused
from codex_mcp.base.settings import Settings
from codex_mcp.mcp.serve_http import serve_http
from tests.support.mcp_session import no_codex
from tests.support.web import KEY


def never(url: str) -> None:
    raise AssertionError(f"it serves at {url}")


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "192.0.2.1"])
async def test_another_address_than_loopback_is_refused_without_tokens(tmp_path: Path, host: str) -> None:
    settings = Settings(codex_home=str(tmp_path), host=host, port=0)
    with pytest.raises(Refused, match=r"--tokens FILE, or listen on 127\.0\.0\.1"):
        await serve_http(settings, no_codex, KEY, never)


async def test_a_port_in_use_is_told(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        with pytest.raises(Refused, match=f"cannot listen on 127.0.0.1 port {port}: Address already in use"):
            await serve_http(Settings(codex_home=str(tmp_path), port=port), no_codex, KEY, never)


async def test_a_name_that_leads_nowhere_is_told(tmp_path: Path) -> None:
    token = tmp_path / "tokens"
    token.write_text("ada 0123456789abcdef\n")
    settings = Settings(codex_home=str(tmp_path), host="no-such-host.invalid", port=0, tokens=str(token))
    with pytest.raises(Refused, match=r"cannot listen on no-such-host\.invalid port 0"):
        await serve_http(settings, no_codex, KEY, never)
