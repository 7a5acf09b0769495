"""Whatever ends an agent's work, and whatever Codex does by itself at that moment: no request to the model follows.

When the gates are opened, whatever was not stopped goes on with its next request. The turns of another agent, which
come after that, show that it did not.
"""

import os
import signal
from collections.abc import Callable, Coroutine
from typing import Any

import pytest

from codex_mcp.scripted_model.server import ScriptedModel
from tests.support.servers.mcp_server import Json
from tests.support.team.fixtures import Team
from tests.support.team.own_turns import OWN_TURNS, fence
from tests.support.team.team_server import TeamServer, refusal, structured

NESTS = "gpt-6.1-sol"
"""A model whose sub-agents start others."""

GATES = ("parent", "middle", "helper", "review", "goal")

Begin = Callable[[TeamServer, ScriptedModel], Coroutine[Any, Any, Json]]


async def with_goal(server: TeamServer, model: ScriptedModel) -> Json:
    arch = await server.start("set a goal", identity="arch")
    await model.wait_for_gate("goal")
    return arch


async def with_subagent(server: TeamServer, model: ScriptedModel) -> Json:
    arch = await server.start("[[scene: multi_agent_v1]]", identity="arch", background=True)
    await model.wait_for_gate("helper")
    await model.wait_for_gate("parent")
    return arch


async def with_nested_subagent(server: TeamServer, model: ScriptedModel) -> Json:
    arch = await server.start("[[scene: nested]]", identity="arch", background=True, model=NESTS)
    for gate in ("helper", "middle", "parent"):
        await model.wait_for_gate(gate)
    return arch


async def with_goal_of_subagent(server: TeamServer, model: ScriptedModel) -> Json:
    arch = await server.start("[[scene: goal_of_helper]]", identity="arch", background=True, model=NESTS)
    await model.wait_for_gate("goal")
    await model.wait_for_gate("parent")
    return arch


async def with_review(server: TeamServer, model: ScriptedModel) -> Json:
    await server.start("hello", identity="arch")
    asked = {"id": "arch", "prompt": "review it", "background": True}
    review = structured(await server.run("codex_review", asked))
    await model.wait_for_gate("review")
    return review


every_work = pytest.mark.parametrize(
    "begin", [with_goal, with_subagent, with_nested_subagent, with_goal_of_subagent, with_review]
)


async def check_nothing_follows(server: TeamServer, model: ScriptedModel) -> None:
    """Open every gate; only the fence may ask the model."""
    before = len(model.counts)
    for gate in GATES:
        model.release(gate)
    await fence(server, 2)
    others = [each.scene for each in list(model.counts)[before:] if each.scene != "hello"]
    assert others == []


@every_work
async def test_after_an_interrupt(team: Team, begin: Begin) -> None:
    async with team("--summary-timeout", "0", script=OWN_TURNS) as (server, model):
        arch = await begin(server, model)
        await server.run("codex_interrupt", {"id": arch["threadId"]})
        await check_nothing_follows(server, model)


@every_work
async def test_after_a_close(team: Team, begin: Begin) -> None:
    async with team("--summary-timeout", "0", script=OWN_TURNS) as (server, model):
        await begin(server, model)
        await server.close_agent("arch")
        await check_nothing_follows(server, model)


@pytest.mark.parametrize("ending", [signal.SIGTERM, signal.SIGKILL])
@every_work
async def test_after_the_end_of_the_server_and_a_restart(team: Team, begin: Begin, ending: signal.Signals) -> None:
    async with team("--summary-timeout", "0", script=OWN_TURNS) as (server, model):
        await begin(server, model)
        arch = next(iter((await server.threads()).values()))
        os.kill(server.process.pid, ending)
        await server.exit_code()
        before = len(model.counts)
        for gate in GATES:
            model.release(gate)
        async with team(script=OWN_TURNS) as (next_server, next_model):
            for gate in GATES:
                next_model.release(gate)
            told = await next_server.start("hello", codex_id=arch["codex_id"])
            assert told["content"] == "Hello."
            await check_nothing_follows(next_server, next_model)
        assert len(model.counts) == before


async def test_after_a_limit(team: Team) -> None:
    async with team("--tokens-per-thread", "360", "--summary-timeout", "0", script=OWN_TURNS) as (server, model):
        arch = await with_nested_subagent(server, model)
        model.release("middle")  # its third request uses the last tokens
        while any(each["state"] == "busy" for each in (await server.threads())[arch["codex_id"]]["subagents"]):
            pass
        await check_nothing_follows(server, model)
        (news,) = structured(await server.run("codex_wait", {"ids": ["arch"]}))["finished"]
        assert "tokens_per_thread" in str(news)


async def test_a_review_beyond_the_limit_is_refused_and_sends_nothing(team: Team) -> None:
    async with team("--tokens-per-thread", "240", "--summary-timeout", "0", script=OWN_TURNS) as (server, model):
        model.release("review")
        await server.start("hello", identity="arch")
        asked = {"id": "arch", "prompt": "review it"}
        review = structured(await server.run("codex_review", asked))
        assert review["usage"]["totalTokens"] == 240  # the turn of a caller is not cut off
        before = len(model.counts)
        assert "tokens_per_thread" in refusal(await server.run("codex_review", asked))
        assert len(model.counts) == before
