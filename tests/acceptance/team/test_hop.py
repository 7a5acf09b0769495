"""Servers of one folder answer for each other: a call for an agent of another server is passed on to it."""

import os
import signal
from collections.abc import Sequence
from pathlib import Path

from tests.support.requirements import requirement
from tests.support.servers.mcp_server import Json
from tests.support.state.quick_lease import quick_team
from tests.support.team.fixtures import Team
from tests.support.team.neighbours import APPROVED, cutter_of
from tests.support.team.scenes import TEAM_SCRIPT, gate
from tests.support.team.team_server import TeamServer, refusal, say, structured

ASKS = {"sandbox": "read-only", "approval-policy": "on-request"}
ESCALATE = "[[scene: escalate]]"
VARYING = ("durationSeconds", "usage")


def lasting(result: Json) -> Json:
    """A result without what differs each time."""
    data = result.get("structuredContent")
    if data is None:
        return result
    return {**result, "structuredContent": {name: value for name, value in data.items() if name not in VARYING}}


@requirement("FR-2.5", "FR-3.1")
async def test_every_tool_gives_there_what_it_gives_at_the_owner(team: Team) -> None:
    async with team(script=TEAM_SCRIPT) as (one, model), team(script=TEAM_SCRIPT) as (other, _):
        arch = await one.start(say("one"), identity="arch")
        names = ({"id": "arch"}, {"codex_id": arch["codex_id"]}, {"threadId": arch["threadId"]})
        calls: list[tuple[str, Json]] = [
            *(("codex-reply", {**name, "prompt": say("two")}) for name in names),
            ("codex", {"codex_id": arch["codex_id"], "prompt": say("three")}),
            ("codex-reply", {"id": "arch", "prompt": say("again"), "rollback": 1}),
            ("codex-reply", {"id": "arch", "threadId": "another", "prompt": say("two")}),
            ("codex-reply", {"id": "arch"}),
            ("codex_wait", {"ids": ["arch"], "timeout-seconds": 0, "again": True}),
            ("codex_diff", {"id": "arch"}),
            ("codex_review", {"id": "arch"}),
            ("codex_interrupt", {"id": "arch"}),
        ]
        for tool, arguments in calls:
            at_owner, there = await one.run(tool, arguments), await other.run(tool, arguments)
            assert lasting(at_owner) == lasting(there), tool
        copy = structured(await other.run("codex", {"fork_from": "arch", "prompt": say("copied")}))
        assert (await other.threads())[copy["codex_id"]]["owner"]["pid"] == one.process.pid
        uri = f"codex://threads/{arch['threadId']}"
        read = [await server.result(server.request("resources/read", {"uri": uri})) for server in (one, other)]
        assert read[0] == read[1]
        assert (await other.close_agent("arch"))["status"] == "closed"
        assert (await one.threads())[arch["codex_id"]]["status"] == "closed"
        assert len(model.requests) > len(calls)


@requirement("FR-3.1")
async def test_events_progress_questions_and_cancels_pass_through(team: Team) -> None:
    async with team(script=TEAM_SCRIPT) as (one, model), team(script=TEAM_SCRIPT) as (other, _):
        await one.start(say("one"), identity="arch", **ASKS)
        call = other.call("codex-reply", {"id": "arch", "prompt": ESCALATE}, meta={"progressToken": "p"})
        asked = await other.question()
        assert asked["params"]["codex_mcp_tool_call_id"] == str(call)
        progress = await other.wait_for(lambda message: message.get("method") == "notifications/progress")
        assert progress["params"]["progressToken"] == "p"
        other.send({"jsonrpc": "2.0", "id": asked["id"], "result": APPROVED})
        assert structured(await other.result(call))["content"] == "It ran."
        kinds = [event["type"] for event in other.events(call)]
        assert (kinds[0], kinds[-1], kinds.count("task_complete")) == ("task_started", "task_complete", 1)
        # Who answers first decides, and the other is told that its question is withdrawn.
        call = other.call("codex-reply", {"id": "arch", "prompt": ESCALATE})
        asked = await other.question(1)
        held = one.call("codex-reply", {"id": "arch", "prompt": gate(), "when": "interrupt"})
        withdrawn = await other.wait_for(lambda message: message.get("method") == "notifications/cancelled")
        assert withdrawn["params"]["requestId"] == asked["id"]
        assert structured(await other.result(call))["status"] == "interrupted"
        # A cancel of the caller there stops the turn here, and nothing else.
        await model.wait_for_gate("gate")
        waiting = other.call("codex-reply", {"id": "arch", "prompt": say("never-said")})
        other.cancel(waiting)
        assert structured(await other.result(waiting))["status"] == "interrupted"
        model.release("gate")
        assert structured(await one.result(held))["content"] == "The gate is open."
        assert "never-said" not in str([request.body for request in model.requests])


@requirement("FR-3.1", "FR-3.2")
async def test_the_owner_is_killed_in_the_middle_and_the_agent_goes_on_here(team: Team) -> None:
    async with team(script=TEAM_SCRIPT) as (other, _), team(script=TEAM_SCRIPT) as (one, model):
        arch = await one.start(say("one"), identity="arch")
        call = other.call("codex-reply", {"id": "arch", "prompt": gate()})
        await model.wait_for_gate("gate")
        os.kill(one.process.pid, signal.SIGKILL)
        told = refusal(await other.result(call))
        assert f"The server that ran agent arch ({arch['codex_id']}), process {one.process.pid} on" in told
        assert "codex-reply continues the agent here" in told
        await one.exit_code()
        again = await other.reply("arch", say("on"))
        assert (again["content"], again["threadId"]) == ("on", arch["threadId"])


@requirement("FR-3.1")
async def test_an_owner_that_stops_or_a_cut_ends_the_call_and_the_turn_goes_on(team: Team) -> None:
    async with team(script=TEAM_SCRIPT) as (one, model):
        await one.start(say("one"), identity="arch")
        async with (await cutter_of(one)).standing() as cutter, team(script=TEAM_SCRIPT) as (other, _):
            call = other.call("codex-reply", {"id": "arch", "prompt": gate()})
            await model.wait_for_gate("gate")
            cutter.cut()
            assert "was lost" in refusal(await other.result(call))
            model.release("gate")
            assert await answer_of(other) == "The gate is open."
            call = other.call("codex-reply", {"id": "arch", "prompt": gate("second")})
            await model.wait_for_gate("second")
            os.kill(one.process.pid, signal.SIGSTOP)
            try:
                told = refusal(await other.result(call))
            finally:
                os.kill(one.process.pid, signal.SIGCONT)
            assert f"server process {one.process.pid} does not answer" in told
            assert "codex_wait" in told
            model.release("second")
            assert await answer_of(other) == "The gate is open."
            assert len(model.requests) == 3  # nothing ran twice


@requirement("FR-3.1")
async def test_an_answer_that_is_lost_on_the_way_is_news(team: Team) -> None:
    async with team(script=TEAM_SCRIPT) as (one, model):
        await one.start(say("one"), identity="arch")
        async with (await cutter_of(one)).standing() as cutter, team(script=TEAM_SCRIPT) as (other, _):
            call = other.call("codex-reply", {"id": "arch", "prompt": gate()})
            await model.wait_for_gate("gate")
            cutter.hold()
            model.release("gate")
            await one.until(lambda: any(entry["event"] == "codex-reply" for entry in one.audit()))
            cutter.cut()
            assert "was lost" in refusal(await other.result(call))
            assert await answer_of(other) == "The gate is open."


async def answer_of(server: TeamServer) -> str:
    """What a wait for the agent returns as news."""
    (turn,) = structured(await server.run("codex_wait", {"ids": ["arch"]}))["finished"]
    content: str = turn["content"]
    return content


@requirement("FR-3.1")
async def test_the_server_that_passed_a_call_on_is_killed_and_the_turn_goes_on(team: Team) -> None:
    async with team(script=TEAM_SCRIPT) as (one, model):
        await one.start(say("one"), identity="arch")
        async with team(script=TEAM_SCRIPT) as (other, _):
            other.call("codex-reply", {"id": "arch", "prompt": gate()})
            await model.wait_for_gate("gate")
            os.kill(other.process.pid, signal.SIGKILL)
            await other.exit_code()
        model.release("gate")
        assert await answer_of(one) == "The gate is open."
        assert len(model.requests) == 2


async def test_a_call_that_was_passed_on_is_never_passed_on_again(tmp_path: Path, codex_flags: Sequence[str]) -> None:
    """A server is asked for an agent that a third one runs: it says so, and the one that asked looks again."""
    quick = (tmp_path, codex_flags)
    async with quick_team(*quick) as (one, _), quick_team(*quick) as (other, _), quick_team(*quick) as (third, _):
        arch = await one.start(say("one"), identity="arch")
        assert (await third.reply("arch", say("two")))["content"] == "two"  # it remembers whose the agent is
        await one.close_agent("arch")
        await other.start(say("mine"), codex_id=arch["codex_id"])
        assert (await third.reply("arch", say("three")))["content"] == "three"
        assert (await third.threads())[arch["codex_id"]]["owner"]["pid"] == other.process.pid
