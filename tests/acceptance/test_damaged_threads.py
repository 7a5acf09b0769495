"""A thread whose file has lost turns goes on, and its caller and its agent are told what is missing."""

import signal
from pathlib import Path

import pytest

from codex_mcp.scripted_model.load import load_script
from codex_mcp.scripted_model.server import ScriptedModel
from tests.support.damage import DAMAGES, damage
from tests.support.processes import all_ended
from tests.support.servers.mcp_server import TOUR, Json, McpServer, Setup
from tests.support.sessions.scene import said, texts

TURNS = 4

INTERRUPTED = {"killed": ["The turn before this one was interrupted"]}
"""What is told of a conversation whose file is whole."""


async def replied(server: McpServer, thread: str, prompt: str, **more: object) -> Json:
    result = await server.run("codex-reply", {"threadId": thread, "prompt": prompt, **more})
    assert "isError" not in result, result
    told: Json = result["structuredContent"]
    assert all(warning in result["content"][0]["text"] for warning in told.get("warnings", ()))
    return told


async def conversation(server: McpServer) -> str:
    """A thread of four turns."""
    thread = str((await said(server, "zebra 0"))["threadId"])
    for number in range(1, TURNS):
        await replied(server, thread, f"zebra {number}")
    return thread


async def test_the_caller_and_the_agent_are_told_once_of_turns_that_a_file_has_lost(tmp_path: Path) -> None:
    async with ScriptedModel(load_script(TOUR)) as model:
        setup = Setup(tmp_path, model.codex_overrides(), [])
        async with McpServer(setup) as server:
            await server.initialize()
            threads = {how: await conversation(server) for how in DAMAGES}
        await all_ended(setup.home)
        for how, thread in threads.items():
            damage(setup.codex_home, thread, how)
        async with McpServer(setup) as server:
            await server.initialize()
            for how, thread in threads.items():
                (warning,) = (await replied(server, thread, "go on"))["warnings"]
                assert "Of all turns of this conversation (4), " in warning, how
                assert f"{thread}.jsonl" in warning, how
                assert "of all earlier turns of this conversation (4), " in texts(model), how
                assert "warnings" not in await replied(server, thread, "and on"), how


async def test_the_numbers_are_those_of_the_turns_that_are_gone(tmp_path: Path) -> None:
    async with ScriptedModel(load_script(TOUR)) as model:
        setup = Setup(tmp_path, model.codex_overrides(), [])
        async with McpServer(setup) as server:
            await server.initialize()
            thread = await conversation(server)
        await all_ended(setup.home)
        damage(setup.codex_home, thread, "whole turns")
        async with McpServer(setup) as server:
            await server.initialize()
            (warning,) = (await replied(server, thread, "go on"))["warnings"]
            assert warning.startswith("Of all turns of this conversation (4), 1 is missing or damaged in its file /")
            assert "zebra 2" in texts(model)
            assert "zebra 3" not in texts(model)


@pytest.mark.parametrize("history", ["plain", "rolled back", "interrupted", "failed", "long answer", "killed"])
async def test_nothing_is_told_of_a_file_that_is_whole(tmp_path: Path, history: str) -> None:
    async with ScriptedModel(load_script(TOUR)) as model:
        setup = Setup(tmp_path, model.codex_overrides(), [])
        async with McpServer(setup) as server:
            await server.initialize()
            thread = await conversation(server)
            if history == "rolled back":
                dropped = await replied(server, thread, "instead", rollback=2)
                assert "Dropped from the conversation" in dropped["warnings"][0]
            elif history == "interrupted":
                running = server.call("codex-reply", {"threadId": thread, "prompt": "[[scene: gate name=never]]"})
                await model.wait_for_gate("never")
                server.cancel(running)
                await replied(server, thread, "after the stop")
            elif history == "failed":
                await server.run("codex-reply", {"threadId": thread, "prompt": "[[scene: fail]]"})
            elif history == "long answer":
                await replied(server, thread, f'[[scene: stream piece="{"word " * 400}" count=600]]')
            elif history == "killed":
                server.call("codex-reply", {"threadId": thread, "prompt": "[[scene: gate name=never]]"})
                await model.wait_for_gate("never")
                await server.kill_core()
        await all_ended(setup.home)
        async with McpServer(setup) as server:
            await server.initialize()
            warnings = (await replied(server, thread, "go on")).get("warnings", [])
            assert [warning.split(",")[0] for warning in warnings] == INTERRUPTED.get(history, []), history


async def test_a_conversation_that_was_rolled_back_and_then_damaged_is_told_of_too(tmp_path: Path) -> None:
    async with ScriptedModel(load_script(TOUR)) as model:
        setup = Setup(tmp_path, model.codex_overrides(), [])
        async with McpServer(setup) as server:
            await server.initialize()
            thread = await conversation(server)
            await replied(server, thread, "instead", rollback=2)
            await replied(server, thread, "instead 2")
        await all_ended(setup.home)
        damage(setup.codex_home, thread, "whole turns")
        async with McpServer(setup) as server:
            await server.initialize()
            (warning,) = (await replied(server, thread, "go on"))["warnings"]
            assert warning.startswith("Of all turns of this conversation (4), 1 is missing or damaged in its file /")


async def test_the_next_answer_says_once_that_the_turn_before_was_interrupted_by_a_kill(tmp_path: Path) -> None:
    async with ScriptedModel(load_script(TOUR)) as model:
        setup = Setup(tmp_path, model.codex_overrides(), [])
        async with McpServer(setup) as server:
            await server.initialize()
            thread = str((await said(server, "zebra"))["threadId"])
            server.call("codex-reply", {"threadId": thread, "prompt": "[[scene: gate]]"})
            await model.wait_for_gate("gate")
            server.signal(signal.SIGKILL)
            assert await server.exit_code() == -signal.SIGKILL
        await all_ended(setup.home)
        async with McpServer(setup) as server:
            await server.initialize()
            (warning,) = (await replied(server, thread, "go on"))["warnings"]
            assert "The turn before this one was interrupted" in warning
            assert "warnings" not in await replied(server, thread, "and on")
        async with McpServer(setup) as server:
            await server.initialize()
            assert "warnings" not in await replied(server, thread, "later")
