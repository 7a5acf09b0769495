"""A busy agent is steered and interrupted: every call is answered once, and the end of a turn is news once."""

import os
import signal
from typing import Any

import pytest

from tests.support.servers.mcp_server import Json
from tests.support.team.fixtures import Team
from tests.support.team.scenes import TEAM_SCRIPT, gate, heard
from tests.support.team.team_server import TeamServer, refusal, say, structured

BOTH = [("completed", "another way")] * 2


def reply(server: TeamServer, prompt: str, **arguments: Any) -> int | str:
    """Send a reply to the agent `arch`, without waiting for its answer."""
    return server.call("codex-reply", {"identity": "arch", "prompt": prompt, **arguments})


async def ending(server: TeamServer, request: int | str) -> tuple[str, str]:
    """Status and content of a call's answer."""
    told = structured(await server.result(request))
    return told["status"], told["content"]


async def news(server: TeamServer, **arguments: Any) -> list[tuple[str, str]]:
    """Status and content of each turn that `codex_wait` says has ended."""
    told = structured(await server.run("codex_wait", {"timeout-seconds": 0, **arguments}))
    return [(turn["status"], turn["content"]) for turn in told["finished"]]


async def test_the_caller_of_the_turn_and_the_one_that_steers_it_are_both_answered(team: Team) -> None:
    async with team(script=TEAM_SCRIPT) as (server, model):
        first = server.call("codex", {"prompt": gate(), "identity": "arch"})
        await model.wait_for_gate("gate")
        second = reply(server, say("another way"), when="steer")
        assert [await ending(server, first), await ending(server, second)] == BOTH
        assert await news(server) == []
        (row,) = (await server.threads()).values()
        used = structured(await server.result(first))["usage"]["totalTokens"]
        assert (row["turns"], row["tokens"]) == (1, used)
        entries = [(entry["event"], entry["outcome"]) for entry in server.audit() if entry["event"] != "codex_wait"]
        assert entries[:2] == [("codex", "ok"), ("codex-reply", "ok")]


async def test_a_turn_that_was_steered_in_the_background_is_news_once(team: Team) -> None:
    async with team(script=TEAM_SCRIPT) as (server, model):
        await server.start(gate(), identity="arch", background=True)
        await model.wait_for_gate("gate")
        assert (await server.reply("arch", say("another way"), when="steer", background=True))["status"] == "running"
        assert await news(server, **{"mode": "all", "timeout-seconds": 60}) == BOTH[:1]
        assert await news(server, ids=["arch"]) == []


async def test_two_that_steer_at_once_are_both_read_and_answered(team: Team) -> None:
    async with team(script=TEAM_SCRIPT) as (server, model):
        await server.start(gate(), identity="arch", background=True)
        await model.wait_for_gate("gate")
        # The model does not answer the first prompt, so that the turn cannot end before the second one arrives.
        prompts = [f"{gate('one')} now", f"{say('two')} now"]
        asked = [reply(server, prompt, when="steer") for prompt in prompts]
        ends = [await ending(server, request) for request in asked]
        assert ends == [("completed", "two")] * 2
        assert all(heard(model).count(prompt) == 1 for prompt in prompts)


async def test_an_idle_agent_is_not_steered_but_asked(team: Team) -> None:
    async with team(script=TEAM_SCRIPT) as (server, _model):
        await server.start(say("first"), identity="arch")
        assert (await server.reply("arch", say("second"), when="steer"))["content"] == "second"
        (row,) = (await server.threads()).values()
        assert row["turns"] == 2


async def test_a_cancelled_call_that_steers_leaves_the_turn_alone(team: Team) -> None:
    async with team(script=TEAM_SCRIPT) as (server, model):
        first = server.call("codex", {"prompt": "[[scene: busy]]", "identity": "arch"})
        await server.event("exec_command_begin")
        second = reply(server, say("another way"), when="steer")
        server.cancel(second)
        await server.until(lambda: '"codex-reply","outcome":"interrupted"' in _audited(server))
        assert await server.threads()
        assert not [message for message in server.messages if message.get("id") == first]
        stopped = structured(await server.run("codex_interrupt", {"id": "arch"}))
        assert stopped["status"] == "interrupted"
        assert (await ending(server, first))[0] == "interrupted"
        assert model.requests


def _audited(server: TeamServer) -> str:
    path = server.state_dir / "audit.jsonl"
    return path.read_text().replace(" ", "") if path.exists() else ""


async def test_a_core_that_dies_fails_the_turn_and_the_call_that_steers_it(team: Team) -> None:
    async with team(script=TEAM_SCRIPT) as (server, model):
        first = server.call("codex", {"prompt": gate(), "identity": "arch"})
        await model.wait_for_gate("gate")
        pid = (await server.status())["core"]["pid"]
        os.kill(pid, signal.SIGSTOP)  # it never answers turn/steer
        second = reply(server, say("another way"), when="steer")
        assert (await server.status())["core"]["alive"]
        os.kill(pid, signal.SIGKILL)
        ends = [await ending(server, request) for request in (first, second)]
        assert [status for status, _ in ends] == ["failed"] * 2
        assert (await server.reply("arch", say("again")))["content"] == "again"


async def test_an_interrupting_reply_is_next_and_the_stopped_turn_is_news_once(team: Team) -> None:
    async with team(script=TEAM_SCRIPT) as (server, model):
        await server.start(gate(), identity="arch", background=True)
        await model.wait_for_gate("gate")
        waiting = reply(server, say("in the queue"))
        urgent = reply(server, say("at once"), when="interrupt")
        assert await ending(server, urgent) == ("completed", "at once")
        assert await ending(server, waiting) == ("completed", "in the queue")
        assert [status for status, _ in await news(server)] == ["interrupted"]
        assert await news(server) == []


@pytest.mark.parametrize("name", ["codex_id", "identity", "threadId"])
async def test_an_interrupt_stops_a_background_turn_and_keeps_the_agent(team: Team, name: str) -> None:
    async with team(script=TEAM_SCRIPT) as (server, model):
        agent = await server.start(gate(), identity="arch", background=True)
        await model.wait_for_gate("gate")
        result = await server.run("codex_interrupt", {"id": agent[name]})
        told = structured(result)
        assert (told["codex_id"], told["status"]) == (agent["codex_id"], "interrupted")
        assert "was stopped" in result["content"][0]["text"]
        assert await news(server, ids=["arch"]) == []  # the result has told it
        idle = await server.run("codex_interrupt", {"id": agent[name]})
        assert (structured(idle)["status"], "isError" in idle) == ("idle", False)
        assert (await server.reply("arch", say("still here")))["content"] == "still here"
        entries = [entry for entry in server.audit() if entry["event"] == "codex_interrupt"]
        assert [entry["what"] for entry in entries] == [gate(), "nothing to stop"]
        assert all(entry["codex_id"] == agent["codex_id"] for entry in entries)


async def test_the_caller_of_an_interrupted_turn_gets_what_was_said_and_the_queue_runs(team: Team) -> None:
    async with team(script=TEAM_SCRIPT) as (server, model):
        first = server.call("codex", {"prompt": gate(), "identity": "arch"})
        await server.event("agent_message")
        await model.wait_for_gate("gate")
        waiting = reply(server, say("in the queue"))
        result = await server.run("codex_interrupt", {"id": "arch"})
        told = structured(result)
        assert told["content"] == "The turn was interrupted. Half of it."
        follows = "1 more prompt is waiting: it starts at once. codex_interrupt again stops it."
        assert told["warnings"] == [follows]
        assert follows in result["content"][0]["text"]
        assert await ending(server, first) == ("interrupted", "The turn was interrupted. Half of it.")
        assert await ending(server, waiting) == ("completed", "in the queue")


async def test_an_interrupt_tells_of_every_prompt_that_waits(team: Team) -> None:
    async with team(script=TEAM_SCRIPT) as (server, model):
        first = server.call("codex", {"prompt": gate(), "identity": "arch"})
        await model.wait_for_gate("gate")
        waiting = [reply(server, gate()), reply(server, say("in the queue"))]
        told = structured(await server.run("codex_interrupt", {"id": "arch"}))
        assert told["warnings"][0].startswith("2 more prompts are waiting: the first one starts at once.")
        await model.wait_for_gate("gate")
        told = structured(await server.run("codex_interrupt", {"id": "arch"}))
        assert told["warnings"][0].startswith("1 more prompt is waiting: it starts at once.")
        assert await ending(server, waiting[1]) == ("completed", "in the queue")
        assert [(await ending(server, each))[0] for each in (first, waiting[0])] == ["interrupted"] * 2
        idle = structured(await server.run("codex_interrupt", {"id": "arch"}))
        assert (idle["status"], "warnings" in idle) == ("idle", False)


async def test_an_interrupted_turn_ends_the_wait_of_the_same_caller(team: Team) -> None:
    async with team(script=TEAM_SCRIPT) as (server, model):
        await server.start(gate(), identity="arch", background=True)
        await model.wait_for_gate("gate")
        wait = server.call("codex_wait", {"ids": ["arch"]})
        await server.run("codex_interrupt", {"id": "arch"})
        finished = structured(await server.result(wait))["finished"]
        assert [turn["status"] for turn in finished] == ["interrupted"]
        assert await news(server) == []


async def test_a_close_during_an_interrupt_answers_both(team: Team) -> None:
    async with team(script=TEAM_SCRIPT) as (server, model):
        first = server.call("codex", {"prompt": gate(), "identity": "arch"})
        await model.wait_for_gate("gate")
        steering = reply(server, say("another way"), when="interrupt")
        stop = server.call("codex_interrupt", {"id": "arch"})
        close = server.call("codex_close", {"identity": "arch"})
        assert (await ending(server, first))[0] == "interrupted"
        assert structured(await server.result(close))["closed"] is True
        assert structured(await server.result(stop))["status"] in ("interrupted", "idle")
        answer = await server.result(steering)
        assert "closed before this turn" in str(answer) or structured(answer)["status"] in ("interrupted", "completed")


async def test_an_interrupt_of_an_agent_that_is_not_there_is_refused(team: Team) -> None:
    async with team(script=TEAM_SCRIPT) as (server, _model):
        agent = await server.start(say("hi"), identity="arch")
        await server.close_agent("arch")
        closed = structured(await server.run("codex_interrupt", {"id": agent["codex_id"]}))
        assert closed["status"] == "closed"
        assert "No agent stranger" in refusal(await server.run("codex_interrupt", {"id": "stranger"}))
        text = refusal(await server.run("codex-reply", {"identity": "arch", "prompt": "x", "when": "steer"}))
        assert "is closed" in text


@pytest.mark.parametrize(
    ("arguments", "says"),
    [({"when": "now"}, "`now`"), ({"when": "steer", "output-schema": {}}, "`output-schema` needs a turn of its own")],
)
async def test_a_reply_that_cannot_be_is_refused(team: Team, arguments: Json, says: str) -> None:
    async with team(script=TEAM_SCRIPT) as (server, _model):
        await server.start(say("hi"), identity="arch")
        text = refusal(await server.run("codex-reply", {"identity": "arch", "prompt": "x", **arguments}))
        assert says in text


async def test_a_repeated_reply_runs_once_and_gets_the_same_answer(team: Team) -> None:
    async with team(script=TEAM_SCRIPT) as (server, model):
        await server.start(gate(), identity="arch", background=True)
        await model.wait_for_gate("gate")
        steer = {"when": "steer", "request_id": "turn left"}
        first = await server.reply("arch", say("another way"), **steer)
        again = await server.reply("arch", say("another way"), **steer)
        assert (first["content"], again["content"]) == ("another way",) * 2
        reply_id = {"request_id": "the second"}
        assert (await server.reply("arch", say("more"), **reply_id))["content"] == "more"
        ran = len(model.requests)
        await server.close_agent("arch")
        assert (await server.reply("arch", say("more"), **reply_id))["content"] == "more"
        assert len(model.requests) == ran
        text = refusal(await server.run("codex-reply", {"identity": "arch", "prompt": "other", **reply_id}))
        assert "belongs to an earlier call with different arguments" in text
