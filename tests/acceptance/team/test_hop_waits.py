"""`codex_wait` is about the agents of all servers of a folder."""

import os
import signal

from tests.support.requirements import requirement
from tests.support.servers.mcp_server import Json
from tests.support.team.fixtures import Team
from tests.support.team.neighbours import client_of, web_server
from tests.support.team.scenes import TEAM_SCRIPT, gate
from tests.support.team.team_server import TeamServer, say, structured

ASKS = {"sandbox": "read-only", "approval-policy": "on-request"}
BEHIND = {"background": True}
AT_ONCE = {"timeout-seconds": 0}


async def waited(server: TeamServer, **arguments: object) -> Json:
    """What a wait tells programs."""
    return structured(await server.run("codex_wait", arguments))


def ended_in(told: Json) -> dict[str, str]:
    """The answers that it tells, by agent."""
    return {turn["identity"]: turn["content"] for turn in told["finished"]}


def running_in(told: Json) -> set[str]:
    """The agents that it says are running."""
    return {turn["identity"] for turn in told["running"]}


@requirement("FR-3.1")
async def test_a_wait_is_about_the_agents_of_several_servers_and_tells_news_once(team: Team) -> None:
    async with team(script=TEAM_SCRIPT) as (one, far), team(script=TEAM_SCRIPT) as (other, near):
        await one.start(say("one"), identity="arch")
        await other.start(gate("here"), identity="dev", **BEHIND)
        await other.reply("arch", gate("there"), **BEHIND)
        await near.wait_for_gate("here")
        await far.wait_for_gate("there")
        assert running_in(await waited(other, **{"timeout-seconds": 0})) == {"arch", "dev"}
        # Without ids, all of the caller's own work is found; the first news ends the wait.
        first = other.call("codex_wait", {})
        far.release("there")
        told = structured(await other.result(first))
        assert (ended_in(told), running_in(told)) == ({"arch": "The gate is open."}, {"dev"})
        # With ids of both, and all of them.
        await other.reply("arch", gate("again"), **BEHIND)
        await far.wait_for_gate("again")
        both = other.call("codex_wait", {"ids": ["arch", "dev"], "mode": "all"})
        near.release("here")
        assert structured(await other.run("codex_status", {}))["threads"]["busy"] <= 1
        far.release("again")
        told = structured(await other.result(both))
        assert (ended_in(told), told["running"]) == (dict.fromkeys(("dev", "arch"), "The gate is open."), [])
        assert ended_in(await waited(other, **AT_ONCE)) == {}
        assert ended_in(await waited(other, ids=["arch", "dev"], again=True)).keys() == {"arch", "dev"}
        nothing = await waited(other)
        assert (nothing["finished"], nothing["running"]) == ([], [])


async def test_a_hook_tells_of_agents_that_other_servers_run(team: Team) -> None:
    async def unfinished(server: TeamServer, event: str) -> str:
        (text,) = (await server.run("codex_unfinished", {"event": event}))["content"]
        told: str = text["text"]
        return told

    async with team(script=TEAM_SCRIPT) as (one, far), team(script=TEAM_SCRIPT) as (other, near):
        await one.start(say("one"), identity="arch")
        await other.start(gate("here"), identity="dev", **BEHIND)
        assert "dev still works" in await unfinished(other, "Stop")
        assert await unfinished(other, "Stop") == "{}", "it was told"
        await other.reply("arch", gate("there"), **BEHIND)
        await far.wait_for_gate("there")
        told = await unfinished(other, "Stop")
        assert '"decision":"block"' in told
        assert "dev still works" in told
        assert "arch still works" in told
        assert await unfinished(other, "Stop") == "{}", "nothing has changed"
        assert await unfinished(one, "Stop") == "{}", "it is another caller's work"
        far.release("there")
        while "arch has answered" not in (told := await unfinished(other, "UserPromptSubmit")):
            pass
        assert "dev" not in told, "who works is no news beside a prompt"
        near.release("here")
        while set(ended_in(await waited(other, again=True, mode="all"))) != {"arch", "dev"}:
            pass
        assert await unfinished(other, "Stop") == "{}", "all is collected"
        await other.reply("arch", gate("there"), **BEHIND)
        os.kill(one.process.pid, signal.SIGKILL)
        await one.exit_code()
        assert "{" in await unfinished(other, "Stop"), "a server that is gone is passed over"
        assert not [line for line in other.audit() if "unfinished" in str(line)]


@requirement("FR-3.1")
async def test_a_server_that_ends_or_stops_is_told_by_the_wait(team: Team) -> None:
    async with (
        team(script=TEAM_SCRIPT) as (other, near),
        team(script=TEAM_SCRIPT) as (one, far),
        team(script=TEAM_SCRIPT) as (third, _),
    ):
        await one.start(say("one"), identity="arch")
        await other.start(gate("here"), identity="dev", **BEHIND)
        await other.reply("arch", gate("there"), **BEHIND)
        await far.wait_for_gate("there")
        await third.threads()
        os.kill(third.process.pid, signal.SIGSTOP)  # nobody waits for it: it has nothing of this caller
        try:
            call = other.call("codex_wait", {})
            os.kill(one.process.pid, signal.SIGSTOP)
            told = structured(await other.result(call))
            assert [each["pid"] for each in told["unreached"]] == [one.process.pid]
            assert running_in(told) == {"dev"}
            os.kill(one.process.pid, signal.SIGCONT)
            far.release("there")
            assert ended_in(await waited(other)) == {"arch": "The gate is open."}
            await other.reply("arch", gate("last"), **BEHIND)
            await far.wait_for_gate("last")
            call = other.call("codex_wait", {"ids": ["arch", "dev"]})
            os.kill(one.process.pid, signal.SIGKILL)
            told = structured(await other.result(call))
            assert f"server process {one.process.pid} has ended" in told["unreached"][0]["why"]
        finally:
            os.kill(third.process.pid, signal.SIGCONT)
        near.release("here")
        assert ended_in(await waited(other, ids=["dev"])) == {"dev": "The gate is open."}


@requirement("FR-3.1")
async def test_a_stateless_client_waits_for_all_and_answers_what_another_server_asks(team: Team) -> None:
    async with team(script=TEAM_SCRIPT) as (one, far), web_server(one) as web:
        await one.start(say("one"), identity="arch", **ASKS)
        client = await client_of(web, "stateless")
        await client.run("codex", {"prompt": gate("here"), "identity": "dev", **BEHIND})
        await client.run("codex-reply", {"id": "arch", "prompt": "[[scene: escalate]]", **BEHIND})
        told = structured(await client.run("codex_wait", {}))
        assert ended_in(told) == {"arch": "It ran."}
        far.release("here")
        assert ended_in(structured(await client.run("codex_wait", {}))) == {"dev": "The gate is open."}
        assert ended_in(structured(await client.run("codex_wait", AT_ONCE))) == {}
