"""A server that is started to resume continues where the last one stopped, with the summary if there is one."""

import os
import signal

import pytest

from tests.support.processes import all_ended
from tests.support.requirements import requirement
from tests.support.team.fixtures import Team
from tests.support.team.scenes import TEAM_SCRIPT, heard
from tests.support.team.team_server import TeamServer, refusal, say


async def kill(server: TeamServer) -> None:
    """Kill it, and wait until its Codex is dead as well."""
    os.kill(server.process.pid, signal.SIGKILL)
    await server.exit_code()
    await all_ended(server.setup.home)


@requirement("FR-6.1", "FR-13.3")
async def test_the_first_call_goes_on_with_the_last_agent_and_its_summary(team: Team) -> None:
    async with team(script=TEAM_SCRIPT) as (server, _model):
        await server.start(say("older"))
        await server.close_agent("codex")
        await server.start(say("somebody else"), identity="arch")
        last = await server.start(say("the blue door"))
    async with team("--resume", script=TEAM_SCRIPT) as (server, model):
        back = await server.start(say("go on"))
        assert (back["codex_id"], back["threadId"]) == (last["codex_id"], last["threadId"])
        assert f"In short: all is well in {last['threadId']}." in heard(model)
        assert "the blue door" in heard(model)
        assert heard(model).index("In short") < heard(model).rindex("go on")
        await server.reply("codex", say("and on"))
        assert heard(model).count("earlier-summary") == 2  # the tags of the one that it got at first
        another = await server.start(say("new"))
        assert (another["codex_id"] != last["codex_id"], another["identity"]) == (True, "codex-2")


@requirement("FR-6.1", "FR-13.3")
@pytest.mark.parametrize(("flags", "expected"), [((), "arch"), (("--identity", "codex"), "codex")])
async def test_the_last_agent_may_have_any_name_unless_one_was_chosen(
    team: Team, flags: tuple[str, ...], expected: str
) -> None:
    async with team(script=TEAM_SCRIPT) as (server, _model):
        await server.start(say("old"), identity="old")
        await server.start(say("one"))
        await server.start(say("last"), identity="arch")
    async with team("--resume", *flags, script=TEAM_SCRIPT) as (server, _model):
        assert (await server.start(say("go on")))["identity"] == expected


@requirement("FR-6.1")
async def test_an_agent_that_another_server_runs_is_not_the_last_one(team: Team) -> None:
    async with team(script=TEAM_SCRIPT) as (one, _):
        closed = [await one.start(say(name), identity=name) for name in ("arch", "dev")]
        for agent in reversed(closed):
            await one.close_agent(agent["codex_id"])
        await one.start(say("again"), identity="arch")  # whose name is taken now
        async with team("--resume", script=TEAM_SCRIPT) as (other, _model):
            assert (await other.start(say("go on")))["codex_id"] == closed[1]["codex_id"]


@requirement("FR-6.2", "FR-13.3")
@pytest.mark.parametrize("name", ["codex_id", "threadId", "identity"])
async def test_the_first_call_goes_on_with_the_agent_that_is_named(team: Team, name: str) -> None:
    async with team(script=TEAM_SCRIPT) as (server, _model):
        arch = await server.start(say("one"), identity="arch")
        await server.start(say("newer"))
    async with team("--resume", arch[name], script=TEAM_SCRIPT) as (server, model):
        back = await server.start(say("go on"))
        assert (back["codex_id"], back["identity"], back["threadId"]) == (arch["codex_id"], "arch", arch["threadId"])
        assert "In short: all is well" in heard(model)


@requirement("FR-6.2")
async def test_to_resume_somebody_unknown_is_refused_every_time_and_an_agent_with_a_name_is_started(team: Team) -> None:
    async with team("--resume", "codex:0123456789ab", script=TEAM_SCRIPT) as (server, model):
        for _ in range(3):
            assert "--resume codex:0123456789ab" in refusal(await server.run("codex", {"prompt": say("go on")}))
        assert (await server.threads(), len(model.requests)) == ({}, 0)
        assert (await server.start(say("new"), identity="arch"))["content"] == "new"


@requirement("FR-6.3", "FR-16.3")
@pytest.mark.parametrize("flags", [("--resume",), ()])
async def test_without_a_summary_it_warns_and_goes_on(team: Team, flags: tuple[str, ...]) -> None:
    async with team(script=TEAM_SCRIPT) as (server, _model):
        before = await server.start(say("the blue door"))
        await kill(server)
    async with team(*flags, script=TEAM_SCRIPT) as (server, model):
        named = {} if flags else {"codex_id": before["codex_id"]}
        back = await server.start(say("go on"), **named)
        assert (back["codex_id"], back["content"]) == (before["codex_id"], "go on")
        assert "the blue door" in heard(model)
        assert "earlier-summary" not in heard(model)
        assert "agent codex is resumed without a summary" in server.log


@requirement("FR-6.1")
async def test_where_there_is_nobody_to_resume_the_first_call_starts_a_new_agent(team: Team) -> None:
    async with team("--resume", script=TEAM_SCRIPT) as (server, _model):
        assert (await server.start(say("new")))["identity"] == "codex"
