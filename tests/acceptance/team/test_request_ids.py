"""A `codex` call with a `request_id` can be repeated at any time: it runs once, and the repeat gets the same answer."""

import asyncio
import os
import signal

import pytest

from tests.support.processes import all_ended
from tests.support.servers.mcp_server import Json
from tests.support.team.fixtures import Team
from tests.support.team.scenes import TEAM_SCRIPT, gate
from tests.support.team.team_server import TeamServer, refusal, say, structured

START: Json = {"prompt": say("done"), "identity": "arch", "request_id": "deploy 42"}
COMPARED = ("codex_id", "identity", "threadId", "content", "status")


def same(one: Json, other: Json) -> bool:
    """The two results name the same agent and give the same answer."""
    return all(one[name] == other[name] for name in COMPARED)


async def kill(server: TeamServer) -> None:
    """End the server without a word, and wait for its Codex."""
    os.kill(server.process.pid, signal.SIGKILL)
    await server.exit_code()
    await all_ended(server.setup.home)


@pytest.mark.parametrize("moment", ["active", "closed", "another has its name"])
async def test_a_repeat_gets_the_first_answer_and_runs_nothing(team: Team, moment: str) -> None:
    async with team(script=TEAM_SCRIPT) as (server, model):
        first = await server.start_with(START)
        if moment != "active":
            await server.close_agent("arch")
        if moment == "another has its name":
            await server.start(say("new"), identity="arch")
        before = await server.threads()
        ran = len(model.requests)
        for _ in range(2):
            assert same(first, await server.start_with(START))
        assert len(model.requests) == ran
        after = await server.threads()
        assert {key: row["status"] for key, row in after.items()} == {key: row["status"] for key, row in before.items()}
        assert after[first["codex_id"]]["turns"] == 1


@pytest.mark.parametrize("how", ["ended", "killed"])
async def test_a_repeat_after_a_restart_gets_the_first_answer_and_runs_nothing(team: Team, how: str) -> None:
    async with team(script=TEAM_SCRIPT) as (server, _model):
        first = await server.start_with(START)
        if how == "killed":
            await kill(server)
    async with team(script=TEAM_SCRIPT) as (server, model):
        assert same(first, await server.start_with(START))
        assert not model.requests
        assert (await server.threads())[first["codex_id"]]["status"] == {"ended": "closed", "killed": "stale"}[how]


async def test_a_request_whose_server_was_killed_in_its_turn_is_not_run_again_and_the_repeat_is_told_so(
    team: Team,
) -> None:
    start = {**START, "prompt": gate()}
    async with team(script=TEAM_SCRIPT) as (server, model):
        server.call("codex", start)
        await model.wait_for_gate("gate")
        await kill(server)
    async with team(script=TEAM_SCRIPT) as (server, model):
        repeat = await server.run("codex", start)
        assert "was not run again" in refusal(repeat)
        assert structured(repeat)["status"] == "interrupted"
        (row,) = (await server.threads()).values()
        assert (structured(repeat)["codex_id"], row["status"]) == (row["codex_id"], "stale")
        assert not model.requests
        # The agent itself can go on, under another request or without one.
        assert (await server.start(say("on"), codex_id=row["codex_id"]))["content"] == "on"


async def test_many_repeats_at_once_are_one_turn_and_all_get_its_answer(team: Team) -> None:
    start = {**START, "prompt": gate()}
    async with team("--max-concurrent-threads", "1", script=TEAM_SCRIPT) as (server, model):
        calls = [server.call("codex", start) for _ in range(10)]
        await model.wait_for_gate("gate")
        late = [server.call("codex", {**start, "background": True}) for _ in range(3)]
        running = [structured(await server.result(call)) for call in late]
        assert {each["status"] for each in running} == {"running"}
        model.release("gate")
        answers = [structured(await server.result(call)) for call in calls]
        assert {each["codex_id"] for each in answers} == {running[0]["codex_id"]}
        assert {each["content"] for each in answers} == {"The gate is open."}
        assert len(model.requests) == 1


async def test_a_repeat_is_answered_although_no_other_agent_may_be_started(team: Team) -> None:
    async with team("--max-concurrent-threads", "2", script=TEAM_SCRIPT) as (server, model):
        first = await server.start_with(START)
        await server.start(say("second"))
        assert same(first, await server.start_with(START))
        await server.close_agent("arch")
        await server.start(say("third"))
        assert same(first, await server.start_with(START))
        assert "max_concurrent_threads" in refusal(await server.run("codex", {**START, "request_id": "other"}))
        assert len(model.requests) == 3


CHANGED: dict[str, Json] = {
    "the prompt": {"prompt": say("other")},
    "the name": {"identity": "dev"},
    "the tag": {"tag": "t"},
    "the sandbox": {"sandbox": "read-only"},
    "the config": {"config": {"model_reasoning_effort": "low"}},
    "an output schema": {"output-schema": {"type": "object"}},
}


async def test_the_same_id_with_other_arguments_is_refused_before_and_after_a_close(team: Team) -> None:
    async with team(script=TEAM_SCRIPT) as (server, model):
        first = await server.start_with(START)
        for closed in (False, True):
            if closed:
                await server.close_agent("arch")
            for what, change in CHANGED.items():
                answer = await server.run("codex", {**START, **change})
                assert first["codex_id"] in refusal(answer), what
                assert answer["_meta"]["codex-mcp/error"]["reason"] == "request_id_reused"
            resume = await server.run(
                "codex", {"codex_id": first["codex_id"], "prompt": say("x"), "request_id": START["request_id"]}
            )
            assert "different arguments" in refusal(resume)
        assert len(model.requests) == 1


async def test_a_repeat_may_wait_in_another_way_and_leave_out_what_is_empty(team: Team) -> None:
    async with team(script=TEAM_SCRIPT) as (server, model):
        first = await server.start_with({**START, "config": {}, "images": []})
        for waiting in ({"background": True}, {"wait-seconds": 5}, {"events": "none"}):
            assert same(first, await server.start_with({**START, **waiting}))
        assert len(model.requests) == 1


async def test_a_resume_with_a_request_id_can_be_repeated_as_well(team: Team) -> None:
    async with team(script=TEAM_SCRIPT) as (server, _model):
        arch = await server.start_with(START)
        resume = {"codex_id": arch["codex_id"], "prompt": say("more"), "request_id": "more"}
        again = await server.start_with(resume)
        assert again["content"] == "more"
        assert same(again, await server.start_with(resume))
        assert same(arch, await server.start_with(START))
    async with team(script=TEAM_SCRIPT) as (server, model):
        assert same(again, await server.start_with(resume))
        assert same(arch, await server.start_with(START))
        assert not model.requests


async def test_a_request_that_another_server_is_working_on_is_answered_by_it(team: Team) -> None:
    async with team(script=TEAM_SCRIPT) as (server, model):
        start = {**START, "prompt": gate()}
        call = server.call("codex", start)
        await model.wait_for_gate("gate")
        async with team(script=TEAM_SCRIPT) as (other, other_model):
            repeat = other.call("codex", start)
            assert list(await other.threads()) == list(await server.threads())
            model.release("gate")
            first = structured(await server.result(call))
            assert same(first, structured(await other.result(repeat)))
            assert same(first, await other.start_with(start))
            assert not other_model.requests


async def test_the_answer_is_kept_without_secrets(team: Team) -> None:
    secret = "sk-" + "proj-" + "x7Q" * 16
    async with team(script=TEAM_SCRIPT) as (server, _model):
        start = {**START, "prompt": say(f"the key is {secret}")}
        assert secret in (await server.start_with(start))["content"]
        await server.close_agent("arch")
        repeated = await server.start_with(start)
        assert repeated["content"].startswith("the key is ")
        assert secret not in repeated["content"]
    files = [path for path in server.state_dir.rglob("*") if path.is_file()]
    assert files
    contents = await asyncio.to_thread(lambda: [path.read_bytes() for path in files])
    assert not any(secret.encode() in content for content in contents)
