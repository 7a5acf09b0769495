"""Goals that a caller sets, pauses, resumes and clears."""

import os
import signal
from pathlib import Path

import pytest

from tests.acceptance.team.test_configuration import home_file
from tests.support.core.odd_codex import TESTED, odd_codex
from tests.support.team.fixtures import Team
from tests.support.team.own_turns import OWN_TURNS, fence, requests_of
from tests.support.team.team_server import refusal, structured

TOKENS = 120
"""Of one request."""


async def test_a_goal_of_a_caller_goes_on_after_the_prompt_until_it_is_paused_and_again_after_that(team: Team) -> None:
    async with team(script=OWN_TURNS) as (server, model):
        arch = await server.start("hello", identity="arch", goal="all green")
        assert (arch["content"], arch["goal"]["status"]) == ("Hello.", "active")
        await model.wait_for_gate("goal")
        told = structured(await server.run("codex_interrupt", {"identity": "arch"}))
        assert told["stopped"] == ['Its goal is paused: "all green".']
        again = await server.reply("arch", "hello", **{"goal-status": "active"})
        assert (again["content"], again["goal"]["status"]) == ("Hello.", "active")
        await model.wait_for_gate("goal")
        cleared = await server.reply("arch", "hello", **{"goal-status": "cleared", "when": "interrupt"})
        assert (cleared["content"], "goal" in cleared) == ("Hello.", False)
        before = requests_of(model, arch["threadId"])
        model.release("goal")
        await fence(server)
        assert requests_of(model, arch["threadId"]) == before


@pytest.mark.parametrize("how", ["codex_interrupt", "codex_close"])
async def test_a_goal_that_is_being_set_when_everything_is_stopped_never_begins(
    team: Team, tmp_path: Path, how: str
) -> None:
    slow = odd_codex(tmp_path / "bin", "sets goals late", version=TESTED)
    async with team("--codex-version", str(slow), "--summary-timeout", "0", script=OWN_TURNS) as (server, model):
        arch = await server.start("hello", identity="arch", goal="all green", background=True)
        await server.event("task_complete")
        stopping = server.call(how, {"identity": "arch"})
        await server.answer(server.request("ping"))
        (server.setup.home / "now").touch()
        told = structured(await server.result(stopping))
        assert how == "codex_close" or told["stopped"] == ['Its goal is paused: "all green".']
        model.release("goal")
        await fence(server)
        answered = [each for each in model.counts if each.session == arch["threadId"] and each.tokens is not None]
        assert [each.scene for each in answered] == ["hello"]


async def test_a_prompt_is_answered_when_its_goal_is_set(team: Team, tmp_path: Path) -> None:
    slow = odd_codex(tmp_path / "bin", "sets goals late", version=TESTED)
    async with team("--codex-version", str(slow), "--summary-timeout", "0", script=OWN_TURNS) as (server, _):
        call = server.call("codex", {"prompt": "hello", "identity": "arch", "goal": "all green"})
        await server.event("task_complete")
        await server.threads()
        (server.setup.home / "now").touch()
        told = structured(await server.result(call))
        assert (told["content"], told["goal"]["status"]) == ("Hello.", "active")
        assert "goes on by itself" in str(told["warnings"])
        await server.run("codex_interrupt", {"identity": "arch"})


async def test_a_goal_ends_with_its_tokens_and_that_is_news(team: Team) -> None:
    async with team(script=OWN_TURNS) as (server, model):
        model.release("goal")
        arch = await server.start("hello", identity="arch", goal="all green", **{"goal-tokens": 300})
        (news,) = structured(await server.run("codex_wait", {"ids": ["arch"]}))["finished"]
        assert (news["goal"]["status"], news["goal"]["tokenBudget"]) == ("budgetLimited", 300)
        row = (await server.threads())[arch["codex_id"]]
        assert (row["goal"], row["state"]) == (news["goal"], "idle")
        assert row["tokens"] == requests_of(model, arch["threadId"]) * TOKENS


async def test_a_goal_does_not_inherit_the_tokens_of_the_one_before(team: Team) -> None:
    async with team(script=OWN_TURNS) as (server, model):
        model.release("goal")
        await server.start("hello", identity="arch", goal="all green", **{"goal-tokens": 300})
        await server.run("codex_wait", {"ids": ["arch"]})
        model.shut("goal")
        again = await server.reply("arch", "hello", goal="all blue")
        assert (again["goal"]["objective"], again["goal"]["status"]) == ("all blue", "active")
        assert again["goal"]["tokenBudget"] is None
        assert again["goal"]["tokensUsed"] <= TOKENS  # 0 if the prompt was answered before the goal was set
        await model.wait_for_gate("goal")
        await server.run("codex_interrupt", {"identity": "arch"})


async def test_a_goal_is_paused_after_a_restart_and_goes_on_if_a_caller_says_so(team: Team) -> None:
    async with team("--summary-timeout", "0", script=OWN_TURNS) as (server, model):
        arch = await server.start("hello", identity="arch", goal="all green")
        await model.wait_for_gate("goal")
        os.kill(server.process.pid, signal.SIGKILL)
        await server.exit_code()
    async with team(script=OWN_TURNS) as (server, model):
        told = await server.start("hello", codex_id=arch["codex_id"])
        assert "`goal-status: active` lets it go on" in str(told["warnings"])
        assert (await server.threads())[arch["codex_id"]]["goal"]["status"] == "paused"
        await server.reply("arch", "hello", **{"goal-status": "active"})
        await model.wait_for_gate("goal")
        await server.run("codex_interrupt", {"identity": "arch"})


async def test_orders_that_cannot_be_obeyed_are_refused_or_told(team: Team) -> None:
    async with team(script=OWN_TURNS) as (server, _):
        assert "`goal` is empty" in refusal(await server.run("codex", {"prompt": "hello", "goal": " "}))
        steer = {"id": "arch", "prompt": "hello", "when": "steer", "goal": "all green"}
        await server.start("hello", identity="arch")
        assert "needs a turn of its own" in refusal(await server.run("codex-reply", steer))
        told = await server.reply("arch", "hello", **{"goal-status": "active"})
        assert "The goal was not changed" in str(told["warnings"])


async def test_a_role_without_goals_and_subagents_has_none(team: Team, tmp_path: Path) -> None:
    home_file(tmp_path, "[plugins.codex-mcp.roles.plain]\ngoals = false\nsubagents = false\n")
    async with team(script=OWN_TURNS) as (server, model):
        await server.start("set a goal", identity="arch", role="plain")
        model.release("parent")
        await server.reply("arch", "[[scene: multi_agent_v1]]")
        told = await server.reply("arch", "hello", goal="all green")
        assert "The goal was not changed: goals are switched off for this thread" in str(told["warnings"])
        row = (await server.threads())[(await server.status())["identities"]["arch"]]
        assert (row["state"], row["tokens"]) == ("idle", 5 * TOKENS)
        assert "goal" not in row
        assert "subagents" not in row
        await server.start("set a goal", identity="dev")
        await model.wait_for_gate("goal")  # those of other agents go on
        await server.run("codex_interrupt", {"identity": "dev"})


async def test_an_agent_whose_goal_is_at_work_can_be_copied_and_the_copy_has_no_goal(team: Team) -> None:
    async with team(script=OWN_TURNS) as (server, model):
        await server.start("hello", identity="arch", goal="all green")
        await model.wait_for_gate("goal")
        copy = await server.start("hello", identity="copy", fork_from="arch")
        assert (copy["content"], "goal" in copy) == ("Hello.", False)
        rows = {row["identity"]: row["state"] for row in (await server.threads()).values()}
        assert rows == {"arch": "busy", "copy": "idle"}
        await server.run("codex_interrupt", {"identity": "arch"})
