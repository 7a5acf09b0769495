"""Names of agents: given, defaulted, refused, freed."""

import signal

from tests.support.core.told import context, last
from tests.support.requirements import requirement
from tests.support.servers.mcp_server import Json
from tests.support.team.fixtures import Team
from tests.support.team.scenes import TEAM_SCRIPT
from tests.support.team.team_server import GATE, refusal, say, structured

PWD = '[[scene: run cmd="pwd"]]'


def why(result: Json) -> Json:
    """What a refusal says to programs."""
    facts: Json = result["_meta"]["codex-mcp/error"]
    return facts


@requirement("FR-2.5")
async def test_an_agent_is_called_what_its_call_says(team: Team) -> None:
    async with team() as (server, model):
        agent = await server.start(say("hi"), identity="arch-ctm")
        assert agent["identity"] == "arch-ctm"
        assert context(last(model))["your name"] == "arch-ctm"
        assert (await server.status())["identities"] == {"arch-ctm": agent["codex_id"]}


@requirement("FR-3.1")
async def test_two_agents_are_active_under_two_names(team: Team) -> None:
    async with team() as (server, model):
        arch = server.call("codex", {"prompt": GATE, "identity": "arch-ctm"})
        await model.wait_for_gate("gate")
        dev = await server.start(say("hi"), identity="dev-1")
        assert context(last(model))["your name"] == "dev-1"
        states = {thread["identity"]: thread["state"] for thread in (await server.threads()).values()}
        assert states == {"arch-ctm": "busy", "dev-1": "idle"}
        model.release("gate")
        first = (await server.result(arch))["structuredContent"]
        assert first["codex_id"] != dev["codex_id"]
        assert first["threadId"] != dev["threadId"]


@requirement("FR-2.5", "FR-3.1")
async def test_a_name_that_is_taken_is_refused_with_who_has_it(team: Team) -> None:
    async with team() as (server, model):
        agent = await server.start(say("hi"), identity="arch-ctm")
        asked = len(model.requests)
        second = await server.run("codex", {"prompt": say("me too"), "identity": "arch-ctm"})
        assert agent["codex_id"] in refusal(second)
        assert why(second) == {"reason": "identity_taken", "identity": "arch-ctm", "codex_id": agent["codex_id"]}
        assert len(model.requests) == asked
        assert list(await server.threads()) == [agent["codex_id"]]


@requirement("FR-3.1")
async def test_of_many_who_ask_for_one_name_at_once_one_gets_it(team: Team) -> None:
    async with team() as (server, _model):
        calls = [server.call("codex", {"prompt": say("hi"), "identity": "arch-ctm"}) for _ in range(5)]
        results = [await server.result(call) for call in calls]
        (winner,) = (result for result in results if not result.get("isError"))
        losers = [result for result in results if result.get("isError")]
        assert {why(loser)["codex_id"] for loser in losers} == {winner["structuredContent"]["codex_id"]}


@requirement("FR-3.4")
async def test_the_name_of_a_closed_agent_is_free(team: Team) -> None:
    async with team() as (server, _model):
        first = await server.start(say("hi"), identity="arch-ctm")
        await server.close_agent(first["codex_id"])
        assert (await server.status())["identities"] == {}
        second = await server.start(say("hi"), identity="arch-ctm")
        assert second["identity"] == "arch-ctm"
        assert second["codex_id"] != first["codex_id"]


@requirement("FR-2.5")
async def test_an_agent_without_a_name_gets_the_default_one(team: Team) -> None:
    async with team() as (server, model):
        assert (await server.start(say("hi")))["identity"] == "codex"
        assert context(last(model))["your name"] == "codex"
        assert (await server.start(say("hi")))["identity"] == "codex-2"


@requirement("FR-2.5")
async def test_the_default_name_is_a_setting(team: Team) -> None:
    async with team("--identity", "worker") as (server, _model):
        assert (await server.start(say("hi")))["identity"] == "worker"


@requirement("FR-2.5")
async def test_what_cannot_be_a_name_is_refused_before_anything_starts(team: Team) -> None:
    async with team() as (server, model):
        for name in ["", "Arch", "../arch", "codex:0123456789ab", "a" * 65, "arch ctm"]:
            assert "identity" in refusal(await server.run("codex", {"prompt": say("hi"), "identity": name}))
        assert await server.threads() == {}
        assert not model.requests


@requirement("FR-2.8")
async def test_a_reply_finds_the_agent_and_its_name(team: Team) -> None:
    async with team() as (server, model):
        arch = await server.start(say("one"), identity="arch-ctm")
        await server.start(say("two"), identity="dev-1")
        answer = await server.reply(arch["codex_id"], say("three"))
        assert (answer["identity"], answer["threadId"]) == ("arch-ctm", arch["threadId"])
        assert context(last(model))["your name"] == "arch-ctm"
        by_name = await server.reply("dev-1", say("four"))
        assert by_name["identity"] == "dev-1"
        assert context(last(model))["your name"] == "dev-1"


@requirement("FR-2.7", "FR-2.8")
async def test_an_agent_works_in_its_folder_also_after_a_restart(team: Team) -> None:
    async with team() as (server, _model):
        elsewhere = server.setup.folder / "elsewhere"
        elsewhere.mkdir()
        agent = await server.start(say("hi"), identity="arch-ctm", cwd=str(elsewhere))
        assert str(elsewhere) in (await server.reply("arch-ctm", PWD))["content"]
    assert server.registry()[agent["codex_id"]]["cwd"] == str(elsewhere)
    async with team() as (server, _model):
        assert str(elsewhere) in (await server.start(PWD, codex_id=agent["codex_id"]))["content"]
        assert str(elsewhere) in (await server.reply("arch-ctm", PWD))["content"]


@requirement("FR-3.2")
async def test_agents_of_a_server_that_was_killed_are_stale_and_can_be_brought_back(team: Team) -> None:
    async with team() as (server, _model):
        one = await server.start(say("hi"), identity="arch-ctm")
        two = await server.start(say("hi"), identity="dev-1")
        server.process.send_signal(signal.SIGKILL)
        await server.exit_code()
    async with team() as (server, _model):
        known = await server.threads()
        assert {agent: known[agent]["status"] for agent in known} == {
            one["codex_id"]: "stale",
            two["codex_id"]: "stale",
        }
        assert (await server.status())["identities"] == {}
        back = await server.start(say("again"), codex_id=one["codex_id"])
        assert back["identity"] == "arch-ctm"
        other = await server.start(say("new"), identity="dev-1")
        assert other["codex_id"] not in known
        assert (await server.threads())[two["codex_id"]]["status"] == "stale"


@requirement("FR-3.3")
async def test_so_many_agents_are_active_at_once_and_no_more(team: Team) -> None:
    async with team("--max-concurrent-threads", "2") as (server, model):
        first = await server.start(say("hi"), identity="one")
        await server.start(say("hi"), identity="two")
        asked = len(model.requests)
        third = await server.run("codex", {"prompt": say("hi"), "identity": "three"})
        assert "max_concurrent_threads" in refusal(third)
        assert why(third) == {"reason": "too_many", "limit": 2}
        assert len(model.requests) == asked
        assert (await server.status())["threads"] == {"active": 2, "busy": 0, "idle": 2, "limit": 2}
        await server.close_agent(first["codex_id"])
        assert (await server.start(say("hi"), identity="three"))["identity"] == "three"


@requirement("FR-3.3")
async def test_ten_agents_may_be_active_if_nobody_says_another_number(team: Team) -> None:
    async with team() as (server, _model):
        assert (await server.status())["threads"]["limit"] == 10


@requirement("FR-2.8")
async def test_a_call_that_names_two_agents_is_refused_and_one_with_two_names_of_one_agent_is_not(team: Team) -> None:
    async with team(script=TEAM_SCRIPT) as (server, model):
        arch, dev = [await server.start(say(name), identity=name) for name in ("arch", "dev")]
        asked = len(model.requests)
        for tool in ("codex-reply", "codex_close"):
            for names in (
                {"codex_id": arch["codex_id"], "identity": "dev"},
                {"codex_id": arch["codex_id"], "threadId": dev["threadId"]},
                {"identity": "arch", "threadId": dev["threadId"]},
                {"identity": "arch", "codex_id": "codex:000000000000"},
            ):
                prompt = {"prompt": say("x")} if tool == "codex-reply" else {}
                told = refusal(await server.run(tool, {**names, **prompt}))
                assert "does not name the same agent" in told or "codex:000000000000" in told
        assert len(model.requests) == asked
        assert (await server.status())["threads"]["active"] == 2
        both = {"codex_id": arch["codex_id"], "identity": "arch", "threadId": arch["threadId"].upper()}
        assert structured(await server.run("codex-reply", {**both, "prompt": say("yes")}))["content"] == "yes"
        assert structured(await server.run("codex_close", both))["closed"] is True
