"""Whatever stops an agent also stops what Codex does by itself: no request to the model follows."""

import os
import signal

import pytest

from tests.support.team.fixtures import Team
from tests.support.team.own_turns import OWN_TURNS, fence, requests_of
from tests.support.team.team_server import TeamServer, structured


async def stop(server: TeamServer, how: str) -> str:
    """Stop the agent `arch`; return what the caller is told."""
    return str(structured(await server.run(how, {"identity": "arch"})))


@pytest.mark.parametrize("how", ["codex_interrupt", "codex_close"])
async def test_a_goal_goes_on_no_longer(team: Team, how: str) -> None:
    async with team(script=OWN_TURNS) as (server, model):
        model.release("goal")
        arch = await server.start("set a goal", identity="arch")
        await server.until(lambda: requests_of(model, arch["threadId"]) >= 5)
        told = await stop(server, how)
        assert how == "codex_close" or 'Its goal is paused: "make all green".' in told
        before = requests_of(model, arch["threadId"])
        await fence(server)
        again = {"codex_id": arch["codex_id"], "prompt": "hello"}
        assert structured(await server.run("codex", again))["content"] == "Hello."  # it can be continued
        await fence(server)
        assert requests_of(model, arch["threadId"]) == before + 1


@pytest.mark.parametrize("parent", ["runs", "has ended"])
@pytest.mark.parametrize("how", ["codex_interrupt", "codex_close"])
@pytest.mark.parametrize("design", ["multi_agent_v1", "collaboration"])
async def test_a_subagent_goes_on_no_longer(team: Team, how: str, parent: str, design: str) -> None:
    flags = ("-c", "features.multi_agent_v2=true") if design == "collaboration" else ()
    async with team(*flags, script=OWN_TURNS) as (server, model):
        if parent == "has ended":
            model.release("parent")
        prompt = f"[[scene: {design}]]"
        arch = await server.start(prompt, identity="arch", background=True)
        await model.wait_for_gate("helper")
        if parent == "has ended":
            await server.run("codex_wait", {"ids": ["arch"]})
        else:
            await model.wait_for_gate("parent")
        await stop(server, how)
        model.release("helper")
        model.release("parent")
        before = requests_of(model, arch["threadId"])
        await fence(server)
        assert requests_of(model, arch["threadId"]) == before


@pytest.mark.parametrize("design", ["multi_agent_v1", "collaboration"])
async def test_a_prompt_that_interrupts_stops_subagents_also_if_no_turn_runs(team: Team, design: str) -> None:
    flags = ("-c", "features.multi_agent_v2=true") if design == "collaboration" else ()
    async with team(*flags, script=OWN_TURNS) as (server, model):
        model.release("parent")
        arch = await server.start(f"[[scene: {design}]]", identity="arch")
        await model.wait_for_gate("helper")
        before = requests_of(model, arch["threadId"])
        told = await server.reply("arch", "hello", when="interrupt")
        assert (told["content"], [each["state"] for each in told["subagents"]]) == ("Hello.", ["idle"])
        model.release("helper")
        await fence(server)
        assert requests_of(model, arch["threadId"]) == before + 1


@pytest.mark.parametrize("ending", [signal.SIGTERM, signal.SIGKILL])
async def test_a_goal_is_paused_after_a_restart_and_the_next_prompt_does_not_revive_it(
    team: Team, ending: signal.Signals
) -> None:
    async with team("--summary-timeout", "0", script=OWN_TURNS) as (server, model):
        model.release("goal")
        arch = await server.start("set a goal", identity="arch")
        await server.until(lambda: requests_of(model, arch["threadId"]) >= 5)
        os.kill(server.process.pid, ending)
        await server.exit_code()
    async with team(script=OWN_TURNS) as (server, model):
        model.release("goal")
        told = await server.start("hello", codex_id=arch["codex_id"])
        assert told["content"] == "Hello."
        assert 'a goal from before, which is paused: "make all green"' in str(told["warnings"])
        await fence(server)
        assert requests_of(model, arch["threadId"]) == 1


async def test_a_cancelled_call_stops_the_subagents_of_its_turn(team: Team) -> None:
    async with team(script=OWN_TURNS) as (server, model):
        arch = await server.start("hello", identity="arch")
        call = server.call("codex-reply", {"identity": "arch", "prompt": "[[scene: multi_agent_v1]]"})
        await model.wait_for_gate("helper")
        await model.wait_for_gate("parent")
        server.cancel(call)
        await fence(server)
        model.release("helper")
        model.release("parent")
        await fence(server)
        assert requests_of(model, arch["threadId"]) == 4
