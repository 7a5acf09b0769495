"""A session knows its calls: they can be taken back from the moment they arrive, and waited for."""

import asyncio
import inspect
import logging
from pathlib import Path

import pytest

from codex_mcp.mcp.schema.results import WaitReport, wait_result
from codex_mcp.wire.mcp import CallTool, Change
from tests.support.patience import PATIENCE
from tests.support.servers.mcp_server import scripted_server
from tests.support.servers.mcp_session import memory_session

WAIT_FOR_A_THREAD = CallTool("codex_wait", {"threadIds": ["0193c0a7-0000-7000-8000-000000000000"]})


async def test_every_session_has_an_id_of_its_own(tmp_path: Path) -> None:
    async with memory_session(tmp_path) as (_, one), memory_session(tmp_path) as (_, other):
        assert one.id != other.id
        assert one.id.isalnum()


async def test_a_session_without_calls_is_idle(tmp_path: Path) -> None:
    async with memory_session(tmp_path) as (client, session):
        assert await session.wait_idle(0.01) is True
        await client.ask("tools/call", {"name": "codex_wait"})
        assert await session.wait_idle(0.01) is True
        assert repr(session).endswith("of a client without a name: 0 calls>")


async def test_a_session_is_busy_from_the_moment_a_call_arrives_until_it_is_answered(tmp_path: Path) -> None:
    async with memory_session(tmp_path) as (_client, session):
        work = session.call_tool(1, WAIT_FOR_A_THREAD, session.client)
        assert inspect.iscoroutine(work)
        assert await session.wait_idle(0.01) is False
        await work
        assert await session.wait_idle(0.01) is True


async def test_a_wait_of_a_caller_without_turns_is_answered_at_once(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    async with memory_session(tmp_path) as (_client, session):
        with caplog.at_level(logging.INFO, logger="codex_mcp.mcp.session"):
            answer = session.call_tool(1, CallTool("codex_wait"), session.client)
            assert answer == wait_result(WaitReport())
            assert not session.busy
            assert session.call_tool(2, CallTool("codex_wait", {"threadIds": []}), session.client) == answer
        assert caplog.messages == ["call of codex_wait ended"] * 2


async def test_several_can_wait_for_a_session_to_be_idle(tmp_path: Path) -> None:
    async with memory_session(tmp_path) as (_client, session):
        work = session.call_tool(1, WAIT_FOR_A_THREAD, session.client)
        assert inspect.iscoroutine(work)
        waiting = asyncio.gather(session.wait_idle(PATIENCE), session.wait_idle(PATIENCE))
        await asyncio.sleep(0)
        await work
        assert all(await waiting)


async def test_a_cancel_in_the_same_breath_as_its_call_works(tmp_path: Path) -> None:
    async with scripted_server(tmp_path) as (server, _model):
        await server.initialize()
        call = server.call("codex", {"prompt": "[[scene: endless]]"})
        server.cancel(call)
        result = await server.result(call)
        assert result["isError"] is True
        assert result["structuredContent"]["status"] == "interrupted"


async def test_a_cancel_stops_its_own_call_alone(tmp_path: Path) -> None:
    async with scripted_server(tmp_path) as (server, model):
        await server.initialize()
        taken_back = server.call("codex", {"prompt": "[[scene: gate name=one]]"})
        wanted = server.call("codex", {"prompt": '[[scene: gate name=two text="Two."]]'})
        await model.wait_for_gate("one")
        await model.wait_for_gate("two")
        server.cancel(taken_back)
        assert (await server.result(taken_back))["structuredContent"]["status"] == "interrupted"
        model.release("two")
        assert (await server.result(wanted))["structuredContent"]["content"] == "Two."


async def test_an_id_may_be_a_text_and_is_not_the_number_of_the_same_name(tmp_path: Path) -> None:
    async with scripted_server(tmp_path) as (server, model):
        await server.initialize()
        server.call("codex", {"prompt": '[[scene: gate name=a text="number"]]'}, request_id=7)
        server.call("codex", {"prompt": '[[scene: gate name=b text="text"]]'}, request_id="7")
        await model.wait_for_gate("a")
        await model.wait_for_gate("b")
        server.cancel("7")
        assert (await server.result("7"))["structuredContent"]["status"] == "interrupted"
        model.release("a")
        assert (await server.result(7))["structuredContent"]["content"] == "number"


async def test_who_listens_is_told_of_what_it_wants_until_it_takes_that_back(tmp_path: Path) -> None:
    async with memory_session(tmp_path) as (client, session):
        prefix = "io.modelcontextprotocol/"
        meta = {f"{prefix}protocolVersion": "2026-07-28", f"{prefix}clientCapabilities": {}}
        listen = {"notifications": {"toolsListChanged": True}, "_meta": meta}
        client.send({"jsonrpc": "2.0", "id": 5, "method": "subscriptions/listen", "params": listen})
        acknowledged = await client.next()
        assert acknowledged["method"] == "notifications/subscriptions/acknowledged"
        assert acknowledged["params"] == {"notifications": {}, "_meta": {f"{prefix}subscriptionId": 5}}, (
            "ours are fixed"
        )
        assert session.busy
        session.announce(Change.TOOLS)
        client.notify("notifications/cancelled", {"requestId": 5})
        assert (await client.next())["id"] == 5


async def test_a_client_that_has_shaken_hands_is_told_of_every_change(tmp_path: Path) -> None:
    async with memory_session(tmp_path) as (client, session):
        info = {"name": "ada", "version": "1"}
        await client.ask("initialize", {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": info})
        session.announce(Change.RESOURCES)
        assert (await client.next())["method"] == "notifications/resources/list_changed"


async def test_the_log_shows_only_the_beginning_of_what_a_client_says(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO, "codex_mcp")
    async with memory_session(tmp_path) as (client, _):
        await client.ask("tools/call", {"name": "x" * 100_000}, request_id="y" * 1_000)
        info = {"name": "z" * 100_000, "version": "1"}
        await client.ask("initialize", {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": info})
    assert len(caplog.messages) == 3
    assert max(map(len, caplog.messages)) < 300


async def test_what_a_session_keeps_for_its_client_is_released_once(tmp_path: Path) -> None:
    released: list[str] = []
    async with memory_session(tmp_path) as (_client, session):
        session.at_close(lambda: released.append("first"))
        session.at_close(lambda: released.append("second"))
        session.close()
        session.close()
    assert released == ["second", "first"]
