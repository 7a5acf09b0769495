"""`codex_wait` for the agents of a team: each answer, question, pause and close once. Texts say how to answer."""

import asyncio
import contextlib
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from codex_mcp.scripted_model.load import load_script
from codex_mcp.scripted_model.server import ScriptedModel
from tests.mcp.calls.test_waiting import is_unanswered, result_at, seen, text_of
from tests.support.http.http_server import ChildServer, http_server
from tests.support.http.mcp_client import call, shake_hands
from tests.support.servers.mcp_server import TOUR, Json, Setup
from tests.support.team.team_server import GATE, TeamServer, refusal, say, structured, team_server

ESCALATES = '[[scene: escalate cmd="touch made.txt"]]'
ASKS: dict[str, Any] = {"sandbox": "read-only", "approval-policy": "on-request"}


def states(text: str, approval: Json) -> bool:
    """Does a text state this question, its id, and the call that answers it?"""
    answer = f'codex_approvals {{"id": "{approval["id"]}", "decision": "approved"}}'
    return approval["question"] in text and f"question id: {approval['id']}" in text and answer in text


def answer_question(server: TeamServer, question: Json, action: str) -> None:
    server.send({"jsonrpc": "2.0", "id": question["id"], "result": {"action": action}})


async def meanwhile(server: TeamServer) -> None:
    """Let the server do something else, long enough for any answer that is due to have come."""
    await server.run("codex_threads", {})
    await server.start(say("meanwhile"))


async def test_a_question_is_stated_in_the_text_of_every_result_and_reported_once(tmp_path: Path) -> None:
    async with team_server(tmp_path, elicitation=False) as (server, _model):
        asked = await server.run("codex", {"prompt": ESCALATES, "identity": "arch", **ASKS})
        (approval,) = structured(asked)["approvals"]
        assert states(text_of(asked), approval)
        assert states(structured(asked)["content"], approval), "some clients show their model nothing else"
        waiting = server.call("codex_wait", {"ids": ["arch"]})
        await meanwhile(server)
        assert is_unanswered(server, waiting)
        reply = await server.run("codex-reply", {"identity": "arch", "prompt": say("next")})
        assert states(text_of(reply), approval), "it does not begin before the question is answered"
        looked = await server.run("codex_wait", {"ids": ["arch"], "again": True})
        assert states(text_of(looked), approval)
        assert is_unanswered(server, waiting)
        await server.run("codex_approvals", {"id": approval["id"], "decision": "approved"})
        answers, _running = seen(await server.result(waiting))
        assert answers[0] == "It ran."


async def test_a_prompt_that_is_refused_because_of_a_question_states_it(tmp_path: Path) -> None:
    async with team_server(tmp_path, "--max-turns-waiting", "1", elicitation=False) as (server, _model):
        (approval,) = (await server.start(ESCALATES, identity="arch", **ASKS))["approvals"]
        await server.reply("arch", say("next"))
        refused = await server.run("codex-reply", {"identity": "arch", "prompt": say("one too many")})
        assert "1 more prompt is waiting already" in refusal(refused)
        assert states(refusal(refused), approval)


ASKS_LATER = """
[scenes.gate]
steps = [{ gate = "gate" }, { say = "The gate is open." }]
[scenes.ask]
steps = [{ gate = "ask" }, { run = "touch made.txt", escalate = true }, { say = "It ran." }]
[scenes.say]
parameters = { text = "" }
steps = [{ say = "{text}" }]
"""


async def test_a_question_that_comes_during_a_wait_ends_it_in_either_mode(tmp_path: Path) -> None:
    script = tmp_path / "script.toml"
    script.write_text(ASKS_LATER)
    async with team_server(tmp_path, script=script, elicitation=False) as (server, model):
        await server.start(GATE, identity="dev", background=True)
        await server.start("[[scene: ask]]", identity="arch", background=True, **ASKS)
        waits = [server.call("codex_wait", {"mode": mode}) for mode in ("all", "first")]
        await meanwhile(server)
        assert is_unanswered(server, *waits)
        model.release("ask")
        told = await server.wait_for(lambda message: message.get("id") in waits)
        waits.remove(told["id"])
        asking = [turn for turn in structured(told["result"])["running"] if "approvals" in turn]
        (approval,) = asking[0]["approvals"]
        assert states(text_of(told["result"]), approval)
        await meanwhile(server)
        assert is_unanswered(server, *waits), "one answer for one piece of news"
        await server.run("codex_approvals", {"id": approval["id"], "decision": "denied"})
        model.release("gate")
        assert seen(await server.result(waits[0]))[0]


async def test_a_question_that_the_client_was_asked_is_stated_without_a_tool_for_it(tmp_path: Path) -> None:
    async with team_server(tmp_path) as (server, _model):
        await server.start(ESCALATES, identity="arch", background=True, **ASKS)
        question = await server.question()
        told = await server.run("codex_wait", {"timeout-seconds": 0})
        assert "touch made.txt" in text_of(told)
        assert "elicitation/create" in text_of(told)
        assert "codex_approvals" not in text_of(told)
        answer_question(server, question, "accept")
        assert seen(await server.run("codex_wait", {})) == (["It ran."], 0)


async def test_an_agent_that_reaches_a_limit_is_news_once(tmp_path: Path) -> None:
    async with team_server(tmp_path, "--turns-per-hour", "1") as (server, _model):
        await server.start(say("done"), identity="arch")
        told = await server.run("codex_wait", {"ids": ["arch"]})
        (paused,) = structured(told)["paused"]
        assert (paused["identity"], paused["status"]) == ("arch", "paused")
        assert "turns_per_hour" in text_of(told)
        waiting = server.call("codex_wait", {"ids": ["arch"]})
        await meanwhile(server)
        assert is_unanswered(server, waiting)
        assert "paused" in structured(await server.run("codex_wait", {"ids": ["arch"], "again": True}))


async def test_the_tokens_of_the_team_pause_an_agent_that_has_nothing_to_do(tmp_path: Path) -> None:
    async with team_server(tmp_path, "--tokens-per-team", "200") as (server, _model):
        used = (await server.start(say("done"), identity="arch"))["usage"]["totalTokens"]
        assert used < 200
        waiting = server.call("codex_wait", {"ids": ["arch"]})
        while used < 200:
            used += (await server.start(say("done")))["usage"]["totalTokens"]
        (paused,) = structured(await server.result(waiting))["paused"]
        assert paused["identity"] == "arch"


async def test_a_close_by_another_caller_is_news_once(tmp_path: Path) -> None:
    async with team_over_http(tmp_path) as server:
        ours, theirs = await shake_hands(server.port), await shake_hands(server.port)
        agent = structured(await result_at(ours, call(1, "codex", {"prompt": say("done"), "identity": "arch"})))
        named = {"ids": ["arch", agent["codex_id"]]}
        told, _closed = await asyncio.gather(
            result_at(ours, call(2, "codex_wait", named)),
            result_at(theirs, call(1, "codex_close", {"identity": "arch"})),
        )
        assert [each["codex_id"] for each in structured(told)["closed"]] == [agent["codex_id"]]
        assert f"[arch, {agent['codex_id']}] closed" in text_of(told)
        again = await result_at(ours, call(3, "codex_wait", {"ids": [agent["codex_id"]], "timeout-seconds": 0.1}))
        assert "closed" not in structured(again)
        own = await result_at(theirs, call(2, "codex_wait", {"ids": [agent["codex_id"]], "timeout-seconds": 0.1}))
        assert "closed" not in structured(own), "whoever closes an agent knows"


async def test_a_close_ends_a_wait_of_the_same_caller_and_is_not_repeated(tmp_path: Path) -> None:
    async with team_server(tmp_path) as (server, _model):
        agent = await server.start(say("done"), identity="arch")
        waiting = server.call("codex_wait", {"ids": ["arch"]})
        await meanwhile(server)
        assert is_unanswered(server, waiting)
        await server.close_agent("arch")
        told = await server.result(waiting)
        assert [each["codex_id"] for each in structured(told)["closed"]] == [agent["codex_id"]]
        again = await server.run("codex_wait", {"ids": [agent["codex_id"]], "timeout-seconds": 0.1})
        assert "closed" not in structured(again)


async def test_of_an_agent_that_comes_back_during_a_wait_the_answer_is_news(tmp_path: Path) -> None:
    async with team_server(tmp_path) as (server, model):
        agent = await server.start(say("done"), identity="arch")
        await server.close_agent("arch")
        waiting = server.call("codex_wait", {"ids": [agent["codex_id"]]})
        resumed = {"codex_id": agent["codex_id"], "prompt": GATE, "background": True}
        assert structured(await server.run("codex", resumed))["status"] == "running"
        assert is_unanswered(server, waiting)
        model.release("gate")
        assert seen(await server.result(waiting)) == (["The gate is open."], 0)


@contextlib.asynccontextmanager
async def team_over_http(folder: Path, *flags: str) -> AsyncIterator[ChildServer]:
    async with (
        ScriptedModel(load_script(TOUR)) as model,
        http_server(Setup(folder, model.codex_overrides(), flags, command="serve")) as server,
    ):
        yield server


@pytest.mark.parametrize("who", ["client", "list"])
async def test_a_question_whose_stream_was_cut_is_listed_and_the_first_answer_counts(tmp_path: Path, who: str) -> None:
    async with team_over_http(tmp_path) as server:
        door = await shake_hands(server.port, capabilities={"elicitation": {}})
        asks = call(1, "codex", {"prompt": ESCALATES, "identity": "arch", **ASKS})
        async with door.stream("POST", asks) as events:
            question = await events.until(method="elicitation/create")
            listed = structured(await result_at(door, call(2, "codex_approvals")))
            assert listed["approvals"] == [], "a person is being asked"
        told = await result_at(door, call(3, "codex_wait", {"ids": ["arch"]}))
        (approval,) = structured(await result_at(door, call(4, "codex_approvals")))["approvals"]
        assert states(text_of(told), approval)
        accept, decline = {"action": "accept"}, {"id": approval["id"], "decision": "denied"}
        reply = {"jsonrpc": "2.0", "id": question["id"], "result": accept}
        if who == "client":
            assert (await door.ask("POST", reply)).status == 202
        else:
            await result_at(door, call(5, "codex_approvals", decline))
            await door.ask("POST", reply)
        answers, _ = seen(await result_at(door, call(6, "codex_wait", {"ids": ["arch"]})))
        assert answers == ["It ran." if who == "client" else "It was refused."]
        late = await result_at(door, call(7, "codex_approvals", decline))
        assert "No question" in refusal(late)


async def test_a_question_that_finds_no_connection_is_listed(tmp_path: Path) -> None:
    async with team_over_http(tmp_path) as server:
        door = await shake_hands(server.port, capabilities={"elicitation": {}})
        asks = call(1, "codex", {"prompt": ESCALATES, "identity": "arch", "background": True, **ASKS})
        await result_at(door, asks)
        told = await result_at(door, call(2, "codex_wait"))
        (approval,) = structured(await result_at(door, call(3, "codex_approvals")))["approvals"]
        assert states(text_of(told), approval)


async def test_a_headless_client_finds_its_question_on_the_list_and_is_not_asked_again(tmp_path: Path) -> None:
    async with team_server(tmp_path) as (server, _model):
        question_number = 0
        while True:  # on a busy machine an answer may take longer than a program needs
            name = f"arch-{question_number}"
            starts = server.call("codex", {"prompt": ESCALATES, "identity": name, **ASKS})
            question = await server.question(question_number)
            answer_question(server, question, "cancel")
            told = structured(await server.result(starts))
            if told["status"] == "running":
                break
            assert told["content"] == "It was refused."
            question_number += 1
            assert question_number < 5
        (approval,) = told["approvals"]
        assert states(told["content"], approval)
        later = await server.start(ESCALATES, identity="later", **ASKS)
        assert len(later["approvals"]) == 1
        assert len([message for message in server.messages if message.get("method") == "elicitation/create"]) == (
            question_number + 1
        )
        await server.run("codex_approvals", {"id": approval["id"], "decision": "approved"})
        assert seen(await server.run("codex_wait", {"ids": [name]})) == (["It ran."], 0)


async def test_the_reason_of_a_refusal_reaches_the_model(tmp_path: Path) -> None:
    async with team_server(tmp_path, elicitation=False) as (server, model):
        asked = await server.start(ESCALATES, identity="arch", **ASKS)
        (approval,) = asked["approvals"]
        answer = {"id": approval["id"], "decision": "denied", "reason": "the disk is full"}
        await server.run("codex_approvals", answer)
        assert seen(await server.run("codex_wait", {"ids": ["arch"]})) == (["It was refused."], 0)
        assert "Reason given: the disk is full" in model.requests[-1].body.decode()
