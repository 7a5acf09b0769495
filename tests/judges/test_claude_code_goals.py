"""The real Claude Code leads an agent that sets itself a goal and starts two sub-agents, and stops all of it."""

from pathlib import Path

from codex_mcp.scripted_model.load import load_script
from codex_mcp.scripted_model.server import ScriptedModel
from tests.support.clients.anthropic_model import Say, Step, Together, Used
from tests.support.clients.claude_code import claude_code, codex, tool
from tests.support.servers.mcp_server import Setup
from tests.support.team.own_turns import OWN_TURNS, requests_of

GATES = ("goal", "helper")

FENCES = 3
"""Turns of another agent after the stop."""


async def test_it_sees_goal_and_subagents_in_one_wait_and_stops_them(tmp_path: Path) -> None:
    async with ScriptedModel(load_script(OWN_TURNS)) as agents:
        made = 0

        async def plan(used: list[Used]) -> Step:
            nonlocal made
            match len(used):
                case 0:
                    return codex("[[scene: goal_and_helpers]]", identity="arch")
                case 1:
                    await agents.wait_for_gate("goal")
                    await agents.wait_for_gate("helper", 2)
                    return tool("codex_wait", ids=["arch"], **{"timeout-seconds": 0})
                case 2:
                    return tool("codex_interrupt", id="arch")
                case 3:
                    made = requests_of(agents, used[0].json["threadId"])
                    for gate in GATES:
                        agents.release(gate)
                    return Together([codex("hello", identity=f"fence-{number}") for number in range(FENCES)])
                case _:
                    return Say("All done.")

        setup = Setup(tmp_path, agents.codex_overrides(), ("--summary-timeout", "0"), command="serve")
        command, *args = setup.argv()
        async with claude_code(setup, {"command": command, "args": args, "env": setup.env()}, plan) as desk:
            await desk.finish()
            started, waited, stopped, *fences = desk.model.used
        assert (started.json["status"], started.json["goal"]["status"]) == ("completed", "active")
        (row,) = waited.json["running"]
        assert (row["identity"], row["goal"]["objective"]) == ("arch", "make all green")
        assert [helper["state"] for helper in row["subagents"]] == ["busy", "busy"]
        assert 'Its goal is paused: "make all green".' in stopped.json["stopped"]
        assert [fence.json["content"] for fence in fences] == ["Hello."] * FENCES
        assert requests_of(agents, started.json["threadId"]) == made
