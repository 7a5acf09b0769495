"""The real Claude Code, headless, with a team: what its model is told of agents, and what is written once it has left.

It ends a server that it started with SIGINT, SIGTERM after 0.1 s, and SIGKILL after 0.4 s more. That is too short for a
summary of a real model, and long enough for the truth.
"""

import contextlib
import json
from collections.abc import AsyncIterator
from pathlib import Path

from codex_mcp.scripted_model.load import load_script
from codex_mcp.scripted_model.server import ScriptedModel
from tests.support.clients.anthropic_model import Json, Plan, Say, Step, Together, Used
from tests.support.clients.claude_code import Desk, claude_code, codex, tool
from tests.support.http.restartable_server import TOKEN, http_house
from tests.support.processes import all_ended
from tests.support.servers.mcp_server import Setup
from tests.support.team.scenes import TEAM_SCRIPT, gate
from tests.support.team.team_server import say

NAMES = ("arch", "dev")

ATTEMPTS = 8
"""Questions after which it must have cancelled one at once."""


@contextlib.asynccontextmanager
async def team_at_work(folder: Path, plan: Plan) -> AsyncIterator[tuple[Desk, ScriptedModel]]:
    """Claude Code on a server with a team that it starts itself, and the model of our agents."""
    async with ScriptedModel(load_script(TEAM_SCRIPT)) as agents:
        setup = Setup(folder, agents.codex_overrides(), command="serve")
        command, *args = setup.argv()
        async with claude_code(setup, {"command": command, "args": args, "env": setup.env()}, plan) as desk:
            yield desk, agents


def written(folder: Path) -> dict[str, str]:
    """What the registry says of the agents, by name."""
    registry: Json = json.loads((folder / "home/.config/atm/codex-sessions/registry.json").read_text())
    return {agent["identity"]: agent["status"] for agent in registry["sessions"]}


def listed(threads: Used) -> dict[str, tuple[str, str]]:
    """Status and state of the agents that a model was shown, by name."""
    return {agent["identity"]: (agent["status"], agent["state"]) for agent in threads.json["threads"]}


def answers(*calls: Used) -> list[tuple[str, str, str]]:
    """Who answered what, and how that came about."""
    return [(each["identity"], each["status"], each["content"]) for each in (call.json for call in calls)]


async def test_agents_in_the_background_work_at_once_and_those_of_one_message_one_after_the_other(
    tmp_path: Path,
) -> None:
    agents: ScriptedModel

    async def plan(used: list[Used]) -> Step:
        match used:
            case []:
                return Together([codex(gate(name), identity=name, background=True) for name in NAMES])
            case [_, _]:
                for name in NAMES:  # both are there before either may go on
                    await agents.wait_for_gate(name)
                for name in NAMES:
                    agents.release(name)
                return Together([tool("codex_wait", ids=[name]) for name in NAMES])
            case [_, _, _, _]:
                return Together([codex(say(f"{name} is here"), identity=name) for name in ("one", "two")])
            case [_, _, _, _, _, _]:
                return tool("codex_close", identity="arch")
            case [_, _, _, _, _, _, _]:
                return tool("codex_threads")
            case _:
                return Say("All done.")

    async with team_at_work(tmp_path, plan) as (desk, agents):
        await desk.finish()

        arch, dev, *collected, one, two, closed, threads = desk.model.used
        assert (arch.json["status"], dev.json["status"]) == ("running", "running")
        finished = [turn for wait in collected for turn in wait.json["finished"]]
        assert {turn["identity"]: turn["content"] for turn in finished} == dict.fromkeys(NAMES, "The gate is open.")
        assert answers(one, two) == [("one", "completed", "one is here"), ("two", "completed", "two is here")]
        assert (closed.json["identity"], closed.json["status"]) == ("arch", "closed")
        idle = ("active", "idle")
        assert listed(threads) == {"arch": ("closed", "closed"), "dev": idle, "one": idle, "two": idle}
        times = {agent["identity"]: (agent["started_at"], agent["last_active"]) for agent in threads.json["threads"]}
        assert times["one"][1] <= times["two"][0]
    after = written(tmp_path)
    assert after.pop("arch") == "closed"
    assert set(after.values()) <= {"closed", "interrupted"}


async def test_its_model_goes_on_by_the_codex_id_that_it_was_told(tmp_path: Path) -> None:
    async def plan(used: list[Used]) -> Step:
        match used:
            case []:
                return codex(say("one"))
            case [started]:
                return tool("codex-reply", codex_id=started.json["codex_id"], prompt=say("two"))
            case _:
                return Say("All done.")

    async with team_at_work(tmp_path, plan) as (desk, _agents):
        await desk.finish()

        started, reply = desk.model.used
        assert answers(started, reply) == [("codex", "completed", "one"), ("codex", "completed", "two")]
        assert reply.json["codex_id"] == started.json["codex_id"]


async def test_agents_that_it_leaves_at_work_are_interrupted_and_so_it_is_written_before_it_kills_us(
    tmp_path: Path,
) -> None:
    agents: ScriptedModel

    async def plan(used: list[Used]) -> Step:
        if not used:
            return Together([codex(f"never sums up {gate(name)}", identity=name, background=True) for name in NAMES])
        for name in NAMES:
            await agents.wait_for_gate(name)
        return Say("I do not wait for them.")

    async with team_at_work(tmp_path, plan) as (desk, agents):
        await desk.finish()
    await all_ended(tmp_path / "home")
    assert written(tmp_path) == dict.fromkeys(NAMES, "interrupted")


async def test_headless_its_model_is_told_the_question_and_answers_it_by_the_tool(tmp_path: Path) -> None:
    """It cancels every question at once. On a busy machine that may look like a decision: then it tries again."""
    escalate = codex("[[scene: escalate]]", **{"approval-policy": "on-request"})

    def listed_question(used: list[Used]) -> Json | None:
        rows = [row for each in used for row in each.json.get("approvals", []) if each.json.get("status") == "running"]
        return rows[0] if rows else None

    async def plan(used: list[Used]) -> Step:
        question = listed_question(used)
        if question is None:
            return escalate if len(used) < ATTEMPTS else Say("Nobody lists it.")
        match [each.json for each in used if each.json.get("answered") or "finished" in each.json]:
            case []:
                return tool("codex_approvals", id=question["id"], decision="approved")
            case [_]:
                return tool("codex_wait", ids=[question["codex_id"]])
            case _:
                return Say("Well.")

    async with team_at_work(tmp_path, plan) as (desk, _agents):
        await desk.finish()

        *tried, asked, answered, waited = desk.model.used
        assert {each.json["content"] for each in tried} <= {"It was refused."}
        (question,) = asked.json["approvals"]
        assert question["question"] in asked.json["content"]
        assert f'codex_approvals {{"id": "{question["id"]}"' in asked.json["content"]
        assert answered.json == {"approvals": [], "answered": question["id"]}
        assert [turn["content"] for turn in waited.json["finished"]] == ["It ran."]
        assert (tmp_path / "work/made.txt").exists()


async def test_over_http_agents_outlive_their_client_and_answer_the_next_one(tmp_path: Path) -> None:
    async def first(used: list[Used]) -> Step:
        match used:
            case []:
                return Together([codex(say(f"{name} is here"), identity=name) for name in NAMES])
            case [_, _]:
                return tool("codex_close", identity="arch")
            case _:
                return Say("I leave dev to others.")

    async def second(used: list[Used]) -> Step:
        match used:
            case []:
                return tool("codex_threads")
            case [_]:
                return tool("codex-reply", identity="dev", prompt=say("still here"))
            case _:
                return Say("All done.")

    async with http_house(tmp_path, script=TEAM_SCRIPT, command="serve") as house:
        server = {"type": "http", "url": house.url, "headers": {"Authorization": f"Bearer {TOKEN}"}}
        async with claude_code(Setup(tmp_path / "first"), server, first) as desk:
            await desk.finish()
            arch, dev, _closed = desk.model.used
        assert answers(arch, dev) == [("arch", "completed", "arch is here"), ("dev", "completed", "dev is here")]
        async with claude_code(Setup(tmp_path / "second"), server, second) as desk:
            await desk.finish()
            threads, reply = desk.model.used
        assert listed(threads) == {"arch": ("closed", "closed"), "dev": ("active", "idle")}
        assert answers(reply) == [("dev", "completed", "still here")]
        assert reply.json["threadId"] == dev.json["threadId"]
        assert written(tmp_path) == {"arch": "closed", "dev": "active"}
    assert written(tmp_path)["dev"] in ("closed", "interrupted")
