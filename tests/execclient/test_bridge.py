"""The bridge: who may use it, what passes, and what happens if the executor cannot be reached."""

import asyncio
from pathlib import Path

import pytest

from codex_mcp.execclient.bridge import Bridge
from codex_mcp.execclient.client import ExecServerClient
from codex_mcp.execclient.errors import CannotConnect
from codex_mcp.execclient.options import ExecServerClientConnectOptions
from codex_mcp.rpc.channel import Channel
from codex_mcp.transports.websockets.dialled import HandshakeRefused, dial
from tests.support.exec.exec_server import own_exec_server, running_exec_server, served_by
from tests.support.patience import PATIENCE


async def unreachable() -> Channel:
    raise ConnectionRefusedError("nothing is there")


async def test_only_the_token_opens_it() -> None:
    async with Bridge(unreachable) as bridge:
        for headers in ({}, {"Authorization": "Bearer wrong"}, {"Authorization": bridge.token}):
            with pytest.raises(HandshakeRefused, match="401"):
                await dial(bridge.url, headers, PATIENCE)


async def test_a_connection_ends_if_the_executor_cannot_be_reached() -> None:
    async with Bridge(unreachable) as bridge:
        socket = await dial(bridge.url, {"Authorization": f"Bearer {bridge.token}"}, PATIENCE)
        async with asyncio.timeout(PATIENCE):
            assert await socket.receive() == []


async def test_messages_pass_in_both_directions(tmp_path: Path) -> None:
    with served_by(own_exec_server()):
        async with running_exec_server(tmp_path) as server:

            async def direct() -> Channel:
                return await dial(server.url, {}, PATIENCE)

            async with Bridge(direct) as bridge:
                options = ExecServerClientConnectOptions(bearer_token=bridge.token)
                async with ExecServerClient(bridge.url, options) as client:
                    many = await asyncio.gather(*(client.environment_status() for _ in range(500)))
                    assert len(many) == 500
                    large = bytes(5_000_000)
                    await client.files.write_file(str(tmp_path / "file"), large)
                    assert await client.files.read_file(str(tmp_path / "file")) == large
            with pytest.raises(CannotConnect):
                await ExecServerClient(bridge.url, options).__aenter__()
