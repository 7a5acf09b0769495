"""The way to a server, and what stands in it."""

import asyncio
from pathlib import Path

import pytest

from codex_mcp.execclient.client import ExecServerClient
from codex_mcp.execclient.dial import Route, route_to
from codex_mcp.execclient.errors import CannotConnect, ExecServerError, OutcomeUnknown, SessionLost
from codex_mcp.execclient.options import DEFAULT_OPTIONS
from codex_mcp.rpc.channel import Channel
from codex_mcp.wire.exec.protocol import EnvironmentStatus
from tests.execclient.test_connection import Server
from tests.support.exec.exec_server import running_exec_server
from tests.support.rpc.memory_channel import memory_pair

ENVIRONMENT = {"shell": {"name": "sh", "path": "/bin/sh"}}


@pytest.mark.parametrize(
    "url", ["http://127.0.0.1:1", "127.0.0.1:1", "", "ws:/x", "ws://127.0.0.1:99999", "ws://[::1", "ws://127.0.0.1:0"]
)
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


async def test_a_route_that_cannot_be_dialled_again_is_lost_with_its_connection() -> None:
    near, far = memory_pair()

    async def dial_once() -> Channel:
        return near

    server = Server(far)
    client = ExecServerClient(Route(dial_once, can_resume=False))
    async with asyncio.TaskGroup() as group:
        opening = group.create_task(client.__aenter__())
        asked = await server.hears()
        server.says({"id": asked["id"], "result": {"sessionId": "s1", "environmentInfo": ENVIRONMENT}})
        await opening
        assert (await server.hears())["method"] == "initialized"
        lost = group.create_task(outcome(client))
        await server.hears()
        await server.hangs_up()
    assert isinstance(lost.result(), OutcomeUnknown)
    assert isinstance(await outcome(client), SessionLost)
    await client.aclose()


async def outcome(client: ExecServerClient) -> ExecServerError | EnvironmentStatus:
    try:
        return await client.environment_status()
    except ExecServerError as exc:
        return exc
