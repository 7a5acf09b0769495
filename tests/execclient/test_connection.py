"""One connection: handshake, answers of every kind, and its end."""

import asyncio
from pathlib import Path

import msgspec
import pytest

from codex_mcp.execclient.client import ExecServerClient
from codex_mcp.execclient.connection import Connection, Route, route_to
from codex_mcp.execclient.errors import (
    CannotConnect,
    ExecServerError,
    OutcomeUnknown,
    PathNotFound,
    RequestRefused,
    SessionLost,
)
from codex_mcp.execclient.flow import Flow
from codex_mcp.execclient.options import DEFAULT_OPTIONS
from codex_mcp.rpc.channel import Channel
from codex_mcp.rpc.errors import ConnectionLost
from codex_mcp.wire.exec.protocol import EnvironmentStatus, Initialized, Shell
from codex_mcp.wire.jsonrpc import Notification
from tests.support.exec.exec_server import running_exec_server
from tests.support.rpc.memory_channel import MemoryChannel, memory_pair


class Server:
    """The far end of a connection, spoken by hand."""

    def __init__(self, channel: MemoryChannel) -> None:
        self._channel = channel

    async def hears(self) -> dict[str, object]:
        (frame,) = await self._channel.receive()
        assert isinstance(frame, bytes)
        return msgspec.json.decode(frame, type=dict[str, object])

    def says(self, message: object) -> None:
        self._channel.send(msgspec.json.encode(message))

    async def hangs_up(self) -> None:
        await self._channel.aclose()


def pair() -> tuple[Connection, Server, list[Notification]]:
    near, far = memory_pair()
    heard: list[Notification] = []
    return Connection(1, near, heard.append, Flow()), Server(far), heard


async def test_the_handshake_resumes_a_session_and_ends_with_initialized() -> None:
    connection, server, _ = pair()
    async with asyncio.TaskGroup() as group:
        listening = group.create_task(connection.listen())
        answer = group.create_task(connection.initialize("me", "s1"))
        asked = await server.hears()
        assert asked["method"] == "initialize"
        assert asked["params"] == {"clientName": "me", "resumeSessionId": "s1"}
        server.says({"id": asked["id"], "result": {"sessionId": "s1"}})
        assert (await server.hears())["method"] == "initialized"
        await server.hangs_up()
    assert answer.result() == Initialized("s1")
    assert listening.result() == "the server closed it"
    assert not connection.is_alive


@pytest.mark.parametrize(
    ("answer", "error"),
    [
        ({"error": {"code": -32004, "message": "gone"}}, PathNotFound),
        ({"error": {"code": -32602, "message": "bad"}}, RequestRefused),
        ({"result": {"status": 5}}, ExecServerError),
    ],
)
async def test_errors_and_unreadable_answers_are_told_apart(
    answer: dict[str, object], error: type[ExecServerError]
) -> None:
    connection, server, _ = pair()
    async with asyncio.TaskGroup() as group:
        group.create_task(connection.listen())
        call = group.create_task(_call(connection))
        asked = await server.hears()
        server.says({"id": asked["id"], **answer})
        assert type(await call) is error
        await server.hangs_up()


async def test_a_call_on_its_way_ends_with_the_connection() -> None:
    connection, server, _ = pair()
    async with asyncio.TaskGroup() as group:
        group.create_task(connection.listen())
        call = group.create_task(_call(connection))
        await server.hears()
        await server.hangs_up()
    assert isinstance(call.result(), ConnectionLost)
    assert isinstance(await _call(connection), ConnectionLost)


async def test_a_server_without_environment_info_has_a_plain_shell() -> None:
    connection, server, _ = pair()
    async with asyncio.TaskGroup() as group:
        group.create_task(connection.listen())
        info = group.create_task(connection.environment())
        asked = await server.hears()
        server.says({"id": asked["id"], "error": {"code": -32601, "message": "what?"}})
        assert (await info).shell == Shell("sh", "/bin/sh")
        await server.hangs_up()


async def test_what_a_server_asks_is_refused_and_what_it_tells_is_passed_on() -> None:
    connection, server, heard = pair()
    async with asyncio.TaskGroup() as group:
        group.create_task(connection.listen())
        server.says({"method": "process/output", "params": {"seq": 1}})
        server.says({"id": 1, "method": "network/policyRequest", "params": {}})
        refused = await server.hears()
        assert refused["id"] == 1
        assert "error" in refused
        await server.hangs_up()
    assert [message.method for message in heard] == ["process/output"]


async def test_closing_twice_is_fine() -> None:
    connection, _, _ = pair()
    await connection.aclose()
    await connection.aclose()
    assert not connection.is_alive


async def _call(connection: Connection) -> BaseException | EnvironmentStatus:
    try:
        return await connection.call("environment/status", {}, EnvironmentStatus)
    except (ExecServerError, ConnectionLost) as exc:
        return exc


ENVIRONMENT = {"shell": {"name": "sh", "path": "/bin/sh"}}


@pytest.mark.parametrize(
    "url", ["http://127.0.0.1:1", "127.0.0.1:1", "", "ws:/x", "ws://127.0.0.1:99999", "ws://[::1", "ws://127.0.0.1:0"]
)
def test_an_address_must_be_a_websockets(url: str) -> None:
    with pytest.raises(CannotConnect, match=r"looks like ws://"):
        route_to(url, DEFAULT_OPTIONS)


async def test_an_address_without_a_host_is_refused_by_name() -> None:
    with pytest.raises(CannotConnect, match="not a WebSocket URL"):
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
