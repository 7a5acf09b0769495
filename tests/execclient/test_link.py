"""A lost connection: who waits, who is told, and what is not repeated. With the real server, and a wire that is cut."""

import asyncio
from pathlib import Path

import pytest

from codex_mcp.execclient.client import ExecServerClient
from codex_mcp.execclient.errors import CannotConnect, OutcomeUnknown, SessionLost
from codex_mcp.execclient.options import ExecServerClientConnectOptions
from codex_mcp.execclient.recovery import ConnectionState
from codex_mcp.wire.exec.protocol import EnvironmentStatus
from tests.support.exec.exec_server import connected, running_exec_server

IMPATIENT = ExecServerClientConnectOptions(recovery_seconds=0.3)


async def test_calls_wait_while_the_connection_is_being_recovered(tmp_path: Path) -> None:
    async with connected(tmp_path) as setting:
        session_id = setting.client.session_id
        setting.proxy.is_refusing = True
        setting.proxy.cut()
        await setting.proxy.knocks(3)
        assert setting.client.state is ConnectionState.RECOVERING
        async with asyncio.TaskGroup() as group:
            calls = [group.create_task(setting.client.environment_status()) for _ in range(2)]
            await setting.proxy.knocks(4)
            assert not any(call.done() for call in calls)
            setting.proxy.is_refusing = False
        assert [call.result() for call in calls] == [EnvironmentStatus("ready")] * 2
        assert setting.client.session_id == session_id


async def test_what_was_on_its_way_is_not_repeated_and_said_to_be_in_doubt(tmp_path: Path) -> None:
    async with connected(tmp_path) as setting:
        setting.proxy.mute()
        async with asyncio.TaskGroup() as group:
            call = group.create_task(_outcome(setting.client))
            await setting.proxy.something_held.wait()
            setting.proxy.cut()
        assert isinstance(call.result(), OutcomeUnknown)
        assert await setting.client.environment_status() == EnvironmentStatus("ready")


async def test_a_server_that_has_not_noticed_yet_is_asked_again(tmp_path: Path) -> None:
    async with connected(tmp_path) as setting:
        setting.proxy.is_lingering = True
        setting.proxy.cut()
        await setting.proxy.knocks(3)  # the first is the client's, the second was told -32010
        setting.proxy.let_go()
        assert await setting.client.environment_status() == EnvironmentStatus("ready")


async def test_a_session_that_the_server_does_not_know_is_lost_at_once(tmp_path: Path) -> None:
    async with connected(tmp_path) as setting, running_exec_server(tmp_path / "other") as other:
        process = await setting.client.start(["sleep", "60"])
        setting.proxy.server_port = other.port
        setting.proxy.cut()
        with pytest.raises(SessionLost, match="unknown session id") as lost:
            await process.wait()
        assert setting.client.state is ConnectionState.FAILED
        with pytest.raises(SessionLost) as again:
            await setting.client.environment_status()
        assert str(again.value) == str(lost.value)


async def test_everyone_who_waits_is_released_when_time_is_up(tmp_path: Path) -> None:
    async with connected(tmp_path, IMPATIENT) as setting:
        process = await setting.client.start(["sleep", "60"])
        setting.proxy.is_refusing = True
        setting.proxy.cut()
        await setting.proxy.knocks(2)
        outcomes = await asyncio.gather(
            process.wait(), setting.client.environment_status(), process.write(b"x"), return_exceptions=True
        )
        texts = {str(outcome) for outcome in outcomes}
        assert {type(outcome) for outcome in outcomes} == {SessionLost}
        assert len(texts) == 1
        assert "within 0.3 seconds" in texts.pop()


async def test_a_client_that_is_closed_while_it_recovers_ends_at_once(tmp_path: Path) -> None:
    async with connected(tmp_path) as setting:
        setting.proxy.is_refusing = True
        setting.proxy.cut()
        await setting.proxy.knocks(2)
        await setting.client.aclose()
        with pytest.raises(SessionLost, match="was closed"):
            await setting.client.environment_status()
        await setting.client.aclose()


async def test_a_server_that_says_nothing_is_given_up(tmp_path: Path) -> None:
    impatient = ExecServerClientConnectOptions(connect_timeout=0.2, initialize_timeout=0.2)
    async with connected(tmp_path) as setting:
        setting.proxy.mute()
        with pytest.raises(CannotConnect, match="in time"):
            async with ExecServerClient(setting.proxy.url, impatient):
                pass


async def _outcome(client: ExecServerClient) -> BaseException | EnvironmentStatus:
    try:
        return await client.environment_status()
    except OutcomeUnknown as exc:
        return exc
