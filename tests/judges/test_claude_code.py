"""The real Claude Code, headless, with a scripted model of its own, works with our agents.

What counts is what its model is told: that is the tool result in its next request.
"""

import contextlib
import os
import signal
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from codex_mcp.scripted_model.load import load_script
from codex_mcp.scripted_model.server import ScriptedModel
from tests.support.clients.anthropic_model import Plan, Say, Use, Used
from tests.support.clients.claude_code import TOOLS, Desk, claude_code, codex, codex_reply
from tests.support.processes import the_server
from tests.support.servers.doorbell import doorbell
from tests.support.servers.mcp_server import TOUR, Setup


@contextlib.asynccontextmanager
async def at_work(folder: Path, plan: Plan, *flags: str) -> AsyncIterator[tuple[Desk, ScriptedModel]]:
    """Claude Code on a server that it starts itself, and the model of our agents."""
    async with ScriptedModel(load_script(TOUR)) as agents:
        setup = Setup(folder, agents.codex_overrides(), flags)
        command, *args = setup.argv()
        async with claude_code(setup, {"command": command, "args": args, "env": setup.env()}, plan) as desk:
            yield desk, agents


async def test_its_model_starts_an_agent_and_continues_the_thread_by_the_id_that_it_was_told(tmp_path: Path) -> None:
    async def plan(used: list[Used]) -> Say | Use:
        match used:
            case []:
                return codex('[[scene: say text="one"]]')
            case [first]:
                return codex_reply(first.json["threadId"], '[[scene: say text="two"]]')
            case _:
                return Say("All done.")

    async with at_work(tmp_path, plan) as (desk, agents):
        said = await desk.finish()

        first, second = desk.model.used
        assert (first.json["content"], second.json["content"]) == ("one", "two")
        assert first.json["threadId"] == second.json["threadId"]
        assert (first.json["status"], second.json["status"]) == ("completed", "completed")
        assert not first.is_error
        assert {seen.thread for seen in agents.requests} == {first.json["threadId"]}
        assert [(server["name"], server["status"]) for server in said[0]["mcp_servers"]] == [("codex", "connected")]
        assert set(TOOLS) <= set(said[0]["tools"])
        assert said[-1]["result"] == "All done."


@pytest.mark.parametrize(("flags", "shakes_hands"), [([], False), (["--protocol", "legacy"], True)])
async def test_it_shakes_hands_only_with_a_server_that_wants_it(
    tmp_path: Path, flags: list[str], *, shakes_hands: bool
) -> None:
    async def plan(used: list[Used]) -> Say | Use:
        return Say("Done.") if used else codex('[[scene: say text="one"]]')

    async with at_work(tmp_path, plan, *flags) as (desk, _):
        await desk.finish()

        (called,) = desk.model.used
        assert called.json["content"] == "one"
        log = (tmp_path / "home/.codex/log/codex-rmcp.log").read_text()
        assert ("client claude-code 2.1.325 asks for MCP 2025-11-25" in log) == shakes_hands


async def test_its_model_finds_our_tools_and_reads_how_they_introduce_themselves(tmp_path: Path) -> None:
    async def plan(used: list[Used]) -> Say | Use:
        return Say("Found.") if used else Use("ToolSearch", {"query": "codex"})

    async with at_work(tmp_path, plan) as (desk, _):
        await desk.finish()

        offered = {tool["name"]: tool for tool in desk.model.requests[-1]["tools"]}
        assert set(TOOLS) <= set(offered)
        assert offered["mcp__codex__codex"]["description"].startswith("Run a Codex coding agent")
        assert offered["mcp__codex__codex"]["input_schema"]["required"] == ["prompt"]


async def test_its_model_reads_the_thread_id_in_the_text_of_a_failure(tmp_path: Path) -> None:
    async def plan(used: list[Used]) -> Say | Use:
        match used:
            case []:
                return codex('[[scene: say text="one"]]')
            case [first]:
                return codex_reply(first.json["threadId"], '[[scene: fail status=400 message="out of order"]]')
            case _:
                return Say("It failed.")

    async with at_work(tmp_path, plan) as (desk, _):
        await desk.finish()

        first, failed = desk.model.used
        assert failed.is_error
        assert "out of order" in failed.text
        assert f"threadId: {first.json['threadId']}" in failed.text


async def test_of_a_very_long_answer_its_model_still_sees_thread_and_status(tmp_path: Path) -> None:
    async def plan(used: list[Used]) -> Say | Use:
        return Say("Long.") if used else codex('[[scene: stream piece="on and on " count=20000]]')

    async with at_work(tmp_path, plan) as (desk, agents):
        await desk.finish()

        (long,) = desk.model.used
        (thread,) = {seen.thread for seen in agents.requests}
        assert len(long.text) < len("on and on ") * 20_000
        assert f'"threadId":"{thread}","status":"completed"' in long.text


async def test_nobody_is_there_to_approve_so_the_agent_is_refused_once_and_goes_on(tmp_path: Path) -> None:
    async def plan(used: list[Used]) -> Say | Use:
        return Say("Well.") if used else codex("[[scene: escalate]]", **{"approval-policy": "on-request"})

    async with at_work(tmp_path, plan) as (desk, _):
        await desk.finish()

        (refused,) = desk.model.used
        assert refused.json["content"] == "It was refused."
        assert not (tmp_path / "work/escalated").exists()


async def test_a_killed_server_is_an_error_and_the_next_call_continues_the_thread_on_a_new_one(tmp_path: Path) -> None:
    async def plan(used: list[Used]) -> Say | Use:
        match used:
            case []:
                return codex('[[scene: say text="one"]]')
            case [first]:
                return codex_reply(first.json["threadId"], "[[scene: gate]]")
            case [first, _]:
                return codex_reply(first.json["threadId"], '[[scene: say text="three"]]')
            case _:
                return Say("All done.")

    async with at_work(tmp_path, plan) as (desk, agents):
        await agents.wait_for_gate("gate")
        os.kill(the_server(tmp_path / "home").pid, signal.SIGKILL)
        await desk.finish()

        first, killed, third = desk.model.used
        assert killed.is_error
        assert "Connection closed" in killed.text
        assert third.json["content"] == "three"
        assert third.json["threadId"] == first.json["threadId"]


async def test_when_it_leaves_in_mid_turn_nothing_is_left_running(tmp_path: Path) -> None:
    async with doorbell(tmp_path / "work/bell") as begun:

        async def plan(used: list[Used]) -> Say | Use:
            if not used:
                endless = '[[scene: run cmd="echo > bell; exec tail -f /dev/null"]]'
                return codex(endless, sandbox="workspace-write", background=True)
            await begun.wait()
            return Say("I do not wait for it.")

        async with at_work(tmp_path, plan) as (desk, _):
            await desk.finish()

            (running,) = desk.model.used
            assert running.json["status"] == "running"


@pytest.mark.parametrize("flags", [[], ["--protocol", "legacy"]])
async def test_our_prompts_are_its_slash_commands(tmp_path: Path, flags: list[str]) -> None:
    prompts = tmp_path / "home/.codex/prompts"
    prompts.mkdir(parents=True)
    (prompts / "review.md").write_text("Review $FILE.")

    async def plan(used: list[Used]) -> Say | Use:
        return Say("Done.") if used else codex("hello")

    async with at_work(tmp_path, plan, *flags) as (desk, _):
        said = await desk.finish()

        assert "mcp__codex__review" in said[0]["slash_commands"]
