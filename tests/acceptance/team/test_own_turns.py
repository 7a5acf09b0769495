"""Turns that Codex begins by itself, and sub-agents: seen, counted, asked and limited like everything else."""

import re

import pytest

from tests.support.team.fixtures import Team
from tests.support.team.mailboxes import envelopes, put, record
from tests.support.team.own_turns import OWN_TURNS, fence, requests_of
from tests.support.team.team_server import structured

TOKENS = 120
"""Of one request."""

ASKING = {"approval-policy": "on-request", "sandbox": "read-only"}


async def test_a_goal_keeps_its_agent_busy_and_its_end_is_news_once(team: Team) -> None:
    async with team(script=OWN_TURNS) as (server, model):
        arch = await server.start("set a goal", identity="arch")
        assert (arch["status"], arch["goal"]["status"]) == ("completed", "active")
        assert 'goes on by itself (goal "make all green")' in str(arch["warnings"])
        await model.wait_for_gate("goal")
        row = (await server.threads())[arch["codex_id"]]
        assert (row["state"], row["goal"]["status"]) == ("busy", "active")
        assert (await server.status())["goals"] == {"arch": row["goal"]}
        waiting = server.call("codex_wait", {})
        model.release("goal")
        await server.until(lambda: requests_of(model, arch["threadId"]) >= 6)
        assert not any(message.get("id") == waiting for message in server.messages)
        model.shut("goal")
        await model.wait_for_gate("goal")
        await server.run("codex_interrupt", {"identity": "arch"})
        (news,) = structured(await server.result(waiting))["finished"]
        assert news["goal"]["status"] == "paused"
        row = (await server.threads())[arch["codex_id"]]
        made = requests_of(model, arch["threadId"])
        assert row["state"] == "idle"
        assert row["tokens"] == (made - 1) * TOKENS  # the last one was interrupted
        assert {entry["event"] for entry in server.audit() if entry.get("tokens")} == {"codex", "goal"}


async def test_a_question_of_a_turn_that_codex_began_is_asked_and_obeyed(team: Team) -> None:
    async with team(script=OWN_TURNS, elicitation=False) as (server, model):
        arch = await server.start("ask first", identity="arch")
        waited = structured(await server.run("codex_wait", {"ids": ["arch"]}))
        assert "echo done" in str(waited["running"])
        (approval,) = structured(await server.run("codex_approvals", {}))["approvals"]
        await server.run("codex_approvals", {"id": approval["id"], "decision": "approved"})
        (news,) = structured(await server.run("codex_wait", {"ids": ["arch"]}))["finished"]
        assert (news["status"], news["goal"]["status"]) == ("completed", "complete")
        tokens = requests_of(model, arch["threadId"]) * TOKENS
        assert (await server.threads())[arch["codex_id"]]["tokens"] == tokens


async def test_a_question_of_a_subagent_is_asked_in_its_name_and_obeyed(team: Team) -> None:
    async with team(script=OWN_TURNS) as (server, model):
        arch = await server.start("[[scene: spawn_asking]]", identity="arch")
        asked = await server.question()
        assert re.match(r"Sub-agent \S+ of agent arch asks:\nAllow Codex to run", asked["params"]["message"])
        assert asked["params"]["threadId"] == arch["threadId"]
        row = (await server.threads())[arch["codex_id"]]
        assert (row["state"], row["subagents"][0]["state"]) == ("busy", "busy")
        assert (await server.status())["subagents"] == {"arch": row["subagents"]}
        server.send({"jsonrpc": "2.0", "id": asked["id"], "result": {"action": "accept", "content": {}}})
        (news,) = structured(await server.run("codex_wait", {"ids": ["arch"]}))["finished"]
        assert news["status"] == "completed"
        (helper,) = news["subagents"]
        assert (helper["state"], helper["tokens"]) == ("idle", 2 * TOKENS)
        row = (await server.threads())[arch["codex_id"]]
        assert (row["tokens"], row["turns"]) == (4 * TOKENS, 2)
        assert requests_of(model, arch["threadId"]) == 4


async def test_a_question_of_a_subagent_is_listed_until_it_is_answered_whatever_turns_end_and_begin(team: Team) -> None:
    async with team(script=OWN_TURNS, elicitation=False) as (server, model):
        await server.start("[[scene: spawn_asking_and_wait]]", identity="arch", background=True)
        await model.wait_for_gate("parent")
        waited = structured(await server.run("codex_wait", {"ids": ["arch"]}))
        assert "Sub-agent" in str(waited["running"])
        model.release("parent")
        (news,) = structured(await server.run("codex_wait", {"ids": ["arch"]}))["finished"]
        assert "A helper works." in news["content"]
        (listed,) = structured(await server.run("codex_approvals", {}))["approvals"]
        await server.reply("arch", "hello", background=True)
        await server.until(lambda: any("Hello." in str(event) for event in server.events()))
        (approval,) = structured(await server.run("codex_approvals", {}))["approvals"]
        assert (approval["id"], (await server.status())["pending_approvals"]) == (listed["id"], 1)
        await server.run("codex_approvals", {"id": approval["id"], "decision": "approved"})
        assert structured(await server.run("codex_approvals", {}))["approvals"] == []
        await server.run("codex_wait", {"ids": ["arch"], "mode": "all"})
        assert (server.setup.work / "asked").exists()


@pytest.mark.parametrize("how", ["codex_interrupt", "codex_close"])
async def test_a_question_of_a_subagent_that_is_stopped_is_withdrawn(team: Team, how: str) -> None:
    async with team("--summary-timeout", "0", script=OWN_TURNS) as (server, _):
        await server.start("[[scene: spawn_asking]]", identity="arch")
        asked = await server.question()
        await server.run(how, {"identity": "arch"})
        withdrawn = await server.wait_for(lambda message: message.get("method") == "notifications/cancelled")
        assert withdrawn["params"]["requestId"] == asked["id"]
        assert not (server.setup.work / "asked").exists()


@pytest.mark.parametrize("flags", [("--tokens-per-thread", "600"), ("--turns-per-hour", "3")])
async def test_a_limit_stops_a_goal_before_its_next_request(team: Team, flags: tuple[str, ...]) -> None:
    async with team(*flags, script=OWN_TURNS) as (server, model):
        model.release("goal")
        arch = await server.start("set a goal", identity="arch")
        (news,) = structured(await server.run("codex_wait", {"ids": ["arch"]}))["finished"]
        assert news["goal"]["status"] == "paused"
        assert flags[0].strip("-").replace("-", "_") in str(news)
        for _ in range(3):
            await fence(server, 2)
        made = requests_of(model, arch["threadId"])
        allowed = 5 if "--tokens-per-thread" in flags else 4  # its first turn makes two
        # On a busy machine one more may leave before its turn is interrupted; `test_own_work` holds the model.
        assert made - allowed in (0, 1)
        assert allowed * TOKENS <= (await server.threads())[arch["codex_id"]]["tokens"] <= made * TOKENS


async def test_a_prompt_during_a_turn_that_codex_began_joins_it(team: Team) -> None:
    async with team(script=OWN_TURNS) as (server, model):
        await server.start("set a goal", identity="arch")
        await model.wait_for_gate("goal")
        begun = await server.reply("arch", "hello", background=True)
        assert begun["status"] == "running"
        model.release("goal")
        await server.until(lambda: any("hello" in str(request.body) for request in model.requests))
        await server.run("codex_interrupt", {"identity": "arch"})
        assert (await server.status())["queues"] == {}


async def test_tokens_that_are_used_up_stop_a_subagent(team: Team) -> None:
    async with team("--tokens-per-thread", "240", script=OWN_TURNS) as (server, model):
        arch = await server.start("[[scene: multi_agent_v1]]", identity="arch", background=True)
        await model.wait_for_gate("helper")
        model.release("parent")
        (news,) = structured(await server.run("codex_wait", {"ids": ["arch"], "mode": "all"}))["finished"]
        assert "tokens_per_thread" in str(news)
        model.release("helper")
        await fence(server, 0)
        assert requests_of(model, arch["threadId"]) == 3  # that of the sub-agent was interrupted
        assert (await server.threads())[arch["codex_id"]]["tokens"] == 2 * TOKENS


async def test_turns_that_are_used_up_allow_no_subagent(team: Team) -> None:
    async with team("--turns-per-hour", "1", script=OWN_TURNS) as (server, model):
        arch = await server.start("[[scene: multi_agent_v1]]", identity="arch", background=True)
        await model.wait_for_gate("parent")
        for _ in range(3):
            await fence(server, 0)
        model.release("helper")
        await fence(server, 0)
        model.release("parent")
        (news,) = structured(await server.run("codex_wait", {"ids": ["arch"]}))["finished"]
        assert "turns_per_hour" in str(news["warnings"])
        # On a busy machine a request of the sub-agent may leave before its turn is interrupted. It gets no answer.
        assert sum(each.tokens or 0 for each in model.counts if each.session == arch["threadId"]) == 2 * TOKENS


async def test_mail_is_read_between_two_turns_of_a_goal(team: Team) -> None:
    async with team(script=OWN_TURNS) as (server, model):
        await server.start("set a goal", identity="arch")
        await model.wait_for_gate("goal")
        put(server, "arch", record("the build is red", 1))
        model.release("goal")
        await server.until(lambda: bool(envelopes(model)))
        await server.run("codex_interrupt", {"identity": "arch"})
        assert envelopes(model)[0][0]["text"] == "the build is red"


async def test_a_time_limit_stops_what_codex_began(team: Team) -> None:
    async with team("--timeout", "4", script=OWN_TURNS) as (server, model):
        model.release("parent")
        arch = await server.start("[[scene: multi_agent_v1]]", identity="arch")
        await model.wait_for_gate("helper")
        (news,) = structured(await server.run("codex_wait", {"ids": ["arch"]}))["finished"]
        assert "its time limit" in news["content"]
        model.release("helper")
        await fence(server)
        assert requests_of(model, arch["threadId"]) == 3


async def test_tokens_of_approvals_that_codex_reviews_itself_are_counted(team: Team) -> None:
    async with team("-c", 'approvals_reviewer="auto_review"', script=OWN_TURNS) as (server, model):
        for _ in range(2):
            asked = await server.start("touch it", identity="arch", **ASKING)
            assert (asked["status"], asked["content"]) == ("completed", "Touched.")
            await server.close_agent("arch")
        assert (server.setup.work / "asked").exists()
        counted = sum(each.tokens or 0 for each in model.counts)
        assert counted > 4 * TOKENS
        while (await server.status())["usage"]["tokens"] != counted:
            pass
