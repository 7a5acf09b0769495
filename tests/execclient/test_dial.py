"""The way to a server, and what stands in it."""

from pathlib import Path

import pytest

from codex_mcp.execclient.client import ExecServerClient
from codex_mcp.execclient.dial import route_to
from codex_mcp.execclient.errors import CannotConnect
from codex_mcp.execclient.options import DEFAULT_OPTIONS
from tests.support.exec_server import running_exec_server


@pytest.mark.parametrize("url", ["http://127.0.0.1:1", "127.0.0.1:1", "", "ws:/x"])
def test_an_address_must_be_a_websockets(url: str) -> None:
    with pytest.raises(CannotConnect, match=r"looks like ws://"):
        route_to(url, DEFAULT_OPTIONS)


async def test_an_address_without_a_host_is_refused_by_name() -> None:
    with pytest.raises(CannotConnect, match="no WebSocket URL"):
        await route_to("ws://", DEFAULT_OPTIONS).dial()


async def test_nobody_at_the_address_is_said_so() -> None:
    with pytest.raises(CannotConnect, match="cannot connect to the exec-server: "):
        async with ExecServerClient("ws://127.0.0.1:1"):
            pass


async def test_a_refusal_is_told_with_its_status(tmp_path: Path) -> None:
    async with running_exec_server(tmp_path) as server:
        with pytest.raises(CannotConnect, match="404"):
            await route_to(f"{server.url}/elsewhere", DEFAULT_OPTIONS).dial()
