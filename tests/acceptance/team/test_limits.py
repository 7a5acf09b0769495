"""Limits hold whichever server runs an agent: its usage goes with it."""

import os
import signal

from tests.support.servers.mcp_server import Json
from tests.support.team.fixtures import Team
from tests.support.team.scenes import TEAM_SCRIPT
from tests.support.team.team_server import refusal, say

FLAGS = ("--turns-per-hour", "2")


async def test_turns_of_the_last_hour_count_also_when_an_agent_was_closed_or_its_server_has_ended(team: Team) -> None:
    async with team(*FLAGS, script=TEAM_SCRIPT) as (server, _model):
        arch = await server.start(say("one"), identity="arch")
        await server.close_agent("arch")
        await server.start(say("two"), codex_id=arch["codex_id"])
        assert "paused" in refusal(await server.run("codex-reply", {"identity": "arch", "prompt": say("three")}))
    async with team(*FLAGS, script=TEAM_SCRIPT) as (server, model):
        third = {"codex_id": arch["codex_id"], "prompt": say("three")}
        told = refusal(await server.run("codex", third))
        assert "Agent arch is paused: cannot start a turn: this agent has begun 2 turns in the last hour" in told
        assert (await server.status())["threads"]["active"] == 0
        assert not model.requests
    async with team("--turns-per-hour", "3", script=TEAM_SCRIPT) as (server, _model):
        assert (await server.start_with(third))["content"] == "three"


async def test_turns_of_the_last_hour_count_also_when_another_server_takes_the_agent_over(team: Team) -> None:
    async with team(*FLAGS, script=TEAM_SCRIPT) as (other, model), team(*FLAGS, script=TEAM_SCRIPT) as (one, _):
        arch = await one.start(say("one"), identity="arch")
        await one.reply("arch", say("two"))
        await one.close_agent("arch")
        dev = await one.start(say("one"), identity="dev")
        os.kill(one.process.pid, signal.SIGKILL)
        await one.exit_code()
        assert "paused" in refusal(await other.run("codex", {"codex_id": arch["codex_id"], "prompt": say("three")}))
        assert (await other.reply(dev["codex_id"], say("two")))["content"] == "two"
        assert len(model.requests) == 1


async def test_what_an_answered_turn_has_used_counts_even_if_the_server_is_killed_with_its_answer(team: Team) -> None:
    arch: Json = {}
    for number in range(3):
        async with team("--turns-per-hour", "3", script=TEAM_SCRIPT) as (server, _model):
            if not arch:
                arch = await server.start(say("0"), identity="arch")
            else:
                await server.start(say(str(number)), codex_id=arch["codex_id"])
            os.kill(server.process.pid, signal.SIGKILL)
            await server.exit_code()
    async with team("--turns-per-hour", "3", script=TEAM_SCRIPT) as (server, model):
        told = refusal(await server.run("codex", {"codex_id": arch["codex_id"], "prompt": say("more")}))
        assert "has begun 3 turns in the last hour" in told
        assert not model.requests
        assert (await server.status())["usage"]["tokens"] == 360
