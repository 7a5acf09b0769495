"""Two servers on one state folder: they keep out of each other's way, and one takes over what the other leaves."""

import os
import signal
from collections.abc import Sequence
from pathlib import Path

from tests.support.processes import commands_at, ended, lines_in
from tests.support.requirements import requirement
from tests.support.servers.mcp_server import Json
from tests.support.state.quick_lease import quick_team
from tests.support.team.fixtures import Team
from tests.support.team.own_turns import OWN_TURNS, requests_of
from tests.support.team.scenes import TEAM_SCRIPT, gate, heard
from tests.support.team.team_server import TeamServer, refusal, say, structured


async def statuses(server: TeamServer) -> dict[str, str]:
    """The agents' statuses by name, as this server sees them."""
    return {each["identity"]: each["status"] for each in (await server.threads()).values()}


async def approvals(server: TeamServer) -> list[Json]:
    """What waits for an answer, as this server sees it."""
    listed: list[Json] = structured(await server.run("codex_approvals", {}))["approvals"]
    return listed


@requirement("FR-2.5", "FR-3.1")
async def test_the_second_server_knows_whose_an_agent_is_and_names_are_those_of_both(team: Team) -> None:
    async with team(script=TEAM_SCRIPT) as (one, model), team(script=TEAM_SCRIPT) as (other, _):
        arch = await one.start(say("one"), identity="arch")
        await one.start(say("one"))
        assert await statuses(other) == {"arch": "active", "codex": "active"}
        assert (await other.threads())[arch["codex_id"]]["owner"]["pid"] == one.process.pid
        taken = await other.run("codex", {"identity": "arch", "prompt": say("two")})
        assert arch["codex_id"] in refusal(taken)
        assert (await other.start(say("two")))["identity"] == "codex-2"
        assert (await one.start(say("three")))["identity"] == "codex-3"
        assert {each["identity"] for each in one.registry().values()} == {"arch", "codex", "codex-2", "codex-3"}
        # What one lets go of, the other may have.
        await one.close_agent("arch")
        assert (await other.start(say("back"), codex_id=arch["codex_id"]))["threadId"] == arch["threadId"]
        assert (await one.reply("arch", say("there")))["content"] == "there"
        assert len(model.requests) == 3


async def test_tokens_that_agents_of_the_other_server_use_stop_a_goal_here(team: Team) -> None:
    limit = ("--tokens-per-team", "1500", "--summary-timeout", "0")  # twelve requests and a half
    async with team(*limit, script=OWN_TURNS) as (one, model), team(*limit, script=OWN_TURNS) as (other, _):
        arch = await one.start("set a goal", identity="arch")
        await model.wait_for_gate("goal")
        await other.start("hello", identity="dev")
        for _ in range(8):
            await other.reply("dev", "hello")
        model.release("goal")
        await one.until(lambda: one.registry()[arch["codex_id"]]["thread_state"] == "idle")  # a wait would count them
        (news,) = structured(await one.run("codex_wait", {"ids": ["arch"]}))["finished"]
        assert "tokens_per_team" in str(news)
        assert requests_of(model, arch["threadId"]) < 10  # it would make twelve if the others did not count


async def test_what_an_agent_of_the_other_server_asks_is_seen_and_its_server_gets_the_answer(
    team: Team,
) -> None:
    deaf = {"script": TEAM_SCRIPT, "elicitation": False}
    async with team(**deaf) as (one, _), team(**deaf) as (other, _model):
        asks = {"sandbox": "read-only", "approval-policy": "on-request"}
        arch = await one.start("[[scene: escalate]]", identity="arch", **asks)
        (question,) = arch["approvals"]
        while not (others := await approvals(other)):  # it is written while its caller is answered
            pass
        (seen,) = others
        assert seen["owner"]["pid"] == one.process.pid
        assert {name: seen[name] for name in ("id", "codex_id", "identity", "question")} == {
            name: question[name] for name in ("id", "codex_id", "identity", "question")
        }
        assert (await other.status())["pending_approvals"] == 0
        answer = {"id": question["id"], "decision": "approved"}
        os.kill(one.process.pid, signal.SIGSTOP)
        told = refusal(await other.run("codex_approvals", answer))
        os.kill(one.process.pid, signal.SIGCONT)
        assert f"agent arch ({arch['codex_id']}), which another server runs: process {one.process.pid} on" in told
        assert f"server process {one.process.pid} does not answer" in told
        assert await approvals(one) == [question]
        wrong = refusal(await other.run("codex_approvals", answer | {"decision": "approved_mcp_policy_amendment"}))
        assert "the answer was not used" in wrong
        assert structured(await other.run("codex_approvals", answer))["answered"] == question["id"]
        await one.until(lambda: any(entry["event"] == "approval" for entry in one.audit()))
        decided = [entry for entry in one.audit() if entry["event"] == "approval"]
        assert [(entry["what"], entry["by"], entry["via"]) for entry in decided] == [
            ("approved", "tests", "codex_approvals")
        ]
        (finished,) = structured(await one.run("codex_wait", {"ids": ["arch"]}))["finished"]
        assert finished["content"] == "It ran."
        while await approvals(other):
            pass


@requirement("FR-3.2", "NFR-2")
async def test_agents_of_a_server_that_is_killed_go_on_with_the_other(team: Team) -> None:
    async with team(script=TEAM_SCRIPT) as (other, model), team(script=TEAM_SCRIPT) as (one, first_model):
        started = [await one.start(say(f"{name} remembers"), identity=name) for name in ("arch", "dev", "test")]
        one.call("codex-reply", {"identity": "arch", "prompt": gate()})
        await first_model.wait_for_gate("gate")
        assert await statuses(other) == dict.fromkeys(("arch", "dev", "test"), "active")
        os.kill(one.process.pid, signal.SIGKILL)
        await one.exit_code()
        assert await statuses(other) == dict.fromkeys(("arch", "dev", "test"), "stale")
        # At once, while the Codex of the dead server may still be dying.
        calls = [other.call("codex-reply", {"codex_id": each["codex_id"], "prompt": say("on")}) for each in started]
        for call, before in zip(calls, started, strict=True):
            answered = structured(await other.result(call))
            assert (answered["content"], answered["threadId"]) == ("on", before["threadId"])
        assert "arch remembers" in "".join(heard(model, number) for number in range(len(model.requests)))
        assert await statuses(other) == dict.fromkeys(("arch", "dev", "test"), "active")


FREE = {"sandbox": "danger-full-access", "approval-policy": "never"}


@requirement("FR-3.1", "FR-3.2")
async def test_agents_of_a_server_that_stays_stopped_go_on_with_the_other(
    tmp_path: Path, codex_flags: Sequence[str]
) -> None:
    quick = (tmp_path, codex_flags)
    async with quick_team(*quick) as (one, first_model), quick_team(*quick) as (other, model):
        arch = await one.start(say("arch remembers"), identity="arch", **FREE)
        os.mkfifo(one.setup.work / "started")
        calls = [one.call("codex-reply", {"identity": "arch", "prompt": "[[scene: busy]]"})]
        await lines_in(one.setup.work / "started", 1)
        calls.append(one.call("codex", {"identity": "dev", "prompt": gate()}))
        await first_model.wait_for_gate("gate")
        await other.start(say("mine"), identity="mine")  # from here on it holds its own lease, and has a Codex
        commands = commands_at(one.setup.home, "sleep 98765")
        os.kill(one.process.pid, signal.SIGSTOP)
        try:
            # As long as its lease lasts, it is its.
            reply = {"identity": "arch", "prompt": say("taken over")}
            assert f"process {one.process.pid} on" in refusal(await other.run("codex-reply", reply))
            while (await statuses(other))["arch"] == "active":
                pass
            answered = structured(await other.run("codex-reply", reply))
            assert (answered["content"], answered["threadId"]) == ("taken over", arch["threadId"])
            assert "arch remembers" in heard(model)
            assert f"ended the Codex of server process {one.process.pid}" in other.log
            for command in commands:
                await ended(command)
            dev = {"identity": "dev", "prompt": say("dev as well")}
            assert structured(await other.run("codex-reply", dev))["content"] == "dev as well"
        finally:
            os.kill(one.process.pid, signal.SIGCONT)
        for call in calls:
            told = refusal(await one.result(call))
            assert "Another server has taken over agent" in told or "Codex ended unexpectedly (signal SIGKILL" in told
        assert structured(await one.run("codex-reply", reply))["content"] == "taken over"
        assert (await one.status())["identities"] == {}
        assert (await one.start(say("new"), identity="new"))["content"] == "new"
        assert (await other.status())["identities"].keys() == {"arch", "dev", "mine"}
        assert structured(await other.run("codex-reply", reply))["content"] == "taken over"
        assert (await other.status())["core"]["starts"] == 1
        assert len(first_model.requests) == 4  # nothing ran twice


@requirement("FR-3.1", "FR-3.2")
async def test_a_server_that_was_stopped_for_too_long_and_goes_on_lets_go_of_its_agents_and_keeps_its_codex(
    tmp_path: Path, codex_flags: Sequence[str]
) -> None:
    quick = (tmp_path, codex_flags)
    async with quick_team(*quick) as (one, first_model), quick_team(*quick) as (other, _model):
        arch = await one.start(say("ready"), identity="arch")
        call = one.call("codex-reply", {"identity": "arch", "prompt": gate()})
        await first_model.wait_for_gate("gate")
        await other.threads()  # from here on it holds its own lease
        os.kill(one.process.pid, signal.SIGSTOP)
        try:
            await other.until(lambda: f"(process {one.process.pid} on" in other.log)
        finally:
            os.kill(one.process.pid, signal.SIGCONT)
        told = refusal(await one.result(call))
        assert f"Another server has taken over agent arch ({arch['codex_id']})" in told
        assert told.endswith("(another server runs the agent now; it can be continued there)")
        assert (await one.start(say("new"), identity="dev"))["content"] == "new"
        reply = {"identity": "arch", "prompt": say("taken over")}
        assert structured(await other.run("codex-reply", reply))["content"] == "taken over"
        assert structured(await one.run("codex-reply", reply))["content"] == "taken over"
        status = await one.status()
        assert (list(status["identities"]), status["core"]["starts"]) == (["dev"], 1)
        assert (await other.status())["identities"] == {"arch": arch["codex_id"]}
