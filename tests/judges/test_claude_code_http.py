"""The real Claude Code, headless, with our server over HTTP. It speaks the era without a handshake."""

import os
import re
import signal
from pathlib import Path

from tests.support.clients.anthropic_model import Json, Say, Use, Used
from tests.support.clients.claude_code import claude_code, codex, codex_reply
from tests.support.http.restartable_server import TOKEN, House, http_house
from tests.support.processes import commands_at, ended
from tests.support.servers.doorbell import doorbell
from tests.support.servers.mcp_server import Setup

LIMIT = 4.0
"""Seconds that it is told to give a call. By itself it knows no limit while there is progress, and what it thinks of
silence is looked at every half minute, so that neither can be scaled."""


SECRET = {"CODEX_MCP_TOKEN": TOKEN}


def address(house: House) -> Json:
    """As it may stand in a file that everybody sees."""
    return {"type": "http", "url": house.url, "headers": {"Authorization": "Bearer ${CODEX_MCP_TOKEN}"}}


async def test_an_agent_runs_a_command_is_refused_another_one_and_goes_on_when_its_server_was_restarted(
    tmp_path: Path,
) -> None:
    async with http_house(tmp_path) as house:

        async def plan(used: list[Used]) -> Say | Use:
            match used:
                case []:
                    return codex('[[scene: run cmd="echo written > file"]]', sandbox="workspace-write")
                case [_]:
                    return codex("[[scene: escalate]]", **{"approval-policy": "on-request"})
                case [first, _]:
                    await house.restart()
                    return codex_reply(first.json["threadId"], '[[scene: say text="after"]]')
                case _:
                    return Say("All done.")

        async with claude_code(Setup(tmp_path / "client"), address(house), plan, SECRET) as desk:
            await desk.finish()

        ran, refused, after = desk.model.used
        assert "asks for MCP" not in house.log
        assert (house.setup.work / "file").read_text() == "written\n"
        assert refused.json["content"] == "It was refused."
        assert not (house.setup.work / "escalated").exists()
        # Once it was called, once it came again with the answer: nobody is there.
        assert len(re.findall("call of codex$", house.log, re.MULTILINE)) == 1 + 2
        assert (after.json["threadId"], after.json["content"]) == (ran.json["threadId"], "after")


async def test_a_turn_is_stopped_when_its_time_is_up_and_one_in_the_background_is_collected_later(
    tmp_path: Path,
) -> None:
    async with http_house(tmp_path) as house:

        async def plan(used: list[Used]) -> Say | Use:
            match used:
                case []:
                    return codex('[[scene: say text="one"]]')
                case [first]:
                    return codex_reply(first.json["threadId"], "[[scene: gate name=never]]")
                case [first, _]:
                    return codex_reply(first.json["threadId"], "[[scene: gate]]", background=True)
                case [first, _, _]:
                    # The other gate was never opened: a turn that had not been stopped would still be in the way.
                    await house.model.wait_for_gate("gate")
                    house.model.release("gate")
                    return Use("mcp__codex__codex_wait", {"threadIds": [first.json["threadId"]]})
                case _:
                    return Say("All done.")

        hurried = SECRET | {"MCP_TOOL_TIMEOUT": str(int(LIMIT * 1000))}
        async with claude_code(Setup(tmp_path / "client"), address(house), plan, hurried) as desk:
            await desk.finish()

        _, late, begun, collected = desk.model.used
        assert late.is_error
        assert "timed out" in late.text
        assert begun.json["status"] == "running"
        assert [turn["content"] for turn in collected.json["finished"]] == ["The gate is open."]


async def test_an_agent_is_stopped_with_its_command_when_a_person_interrupts_the_call(tmp_path: Path) -> None:
    async def plan(used: list[Used]) -> Say | Use:
        return codex('[[scene: run cmd="echo > bell; exec tail -f /dev/null"]]', sandbox="workspace-write")

    async with (
        http_house(tmp_path) as house,
        doorbell(house.setup.work / "bell") as begun,
        claude_code(Setup(tmp_path / "client"), address(house), plan, SECRET) as desk,
    ):
        await begun.wait()
        commands = commands_at(house.setup.home, "tail -f")
        os.kill(desk.process.pid, signal.SIGINT)
        await desk.process.communicate()
        for command in commands:
            await ended(command)
