"""The audit: what was asked of whom, by which request, and what came of it. Nothing secret is in it."""

import contextlib
import os
from collections.abc import Iterator
from pathlib import Path

from codex_mcp.base.locks import flocked
from tests.support.patience import PATIENCE
from tests.support.requirements import requirement
from tests.support.servers.mcp_server import Json
from tests.support.team.fixtures import Team
from tests.support.team.scenes import TEAM_SCRIPT, gate
from tests.support.team.team_server import TeamServer, refusal, say, structured

ASKS = {"sandbox": "read-only", "approval-policy": "on-request"}
CLIENT = "tests"


async def entries(server: TeamServer, number: int) -> list[Json]:
    """All entries, once there are this many."""
    audit = server.state_dir / "audit.jsonl"
    await server.until(lambda: audit.exists() and len(server.audit()) >= number)
    assert len(server.audit()) == number
    return server.audit()


@requirement("FR-9.2", "FR-9.3")
async def test_every_prompt_is_audited_with_its_agent_its_request_and_its_outcome(team: Team) -> None:
    async with team(script=TEAM_SCRIPT) as (server, model):
        arch = structured(
            await server.result(server.call("codex", {"prompt": say("one"), "identity": "arch"}, request_id="first"))
        )
        dev = await server.start(say("two"), identity="dev")
        await server.result(
            server.call("codex-reply", {"prompt": "[[scene: fail]]", "identity": "dev"}, request_id="third")
        )
        call = server.call("codex-reply", {"prompt": gate(), "identity": "arch"}, request_id="fourth")
        await model.wait_for_gate("gate")
        server.cancel(call)
        await server.until(lambda: len(server.audit()) == 4)
        await server.result(server.call("codex_close", {"identity": "dev"}, request_id="fifth"))
        await server.result(server.call("codex_close", {"codex_id": dev["codex_id"]}, request_id="sixth"))
        found = await entries(server, 6)
        shown = [(each["event"], each["outcome"], each["identity"], each["request_id"]) for each in found]
        assert shown == [
            ("codex", "ok", "arch", "first"),
            ("codex", "ok", "dev", shown[1][3]),
            ("codex-reply", "failed", "dev", "third"),
            ("codex-reply", "interrupted", "arch", "fourth"),
            ("codex_close", "ok", "dev", "fifth"),
            ("codex_close", "ok", "dev", "sixth"),
        ]
        ids = {"arch": arch["codex_id"], "dev": dev["codex_id"]}
        assert all(each["codex_id"] == ids[each["identity"]] and each["team"] == "default" for each in found)
        assert [each["what"] for each in found[4:]] == ["closed", "already_closed"]
        assert (found[0]["what"], found[0]["tokens"] > 0, found[0]["duration_ms"] > 0) == (say("one"), True, True)
        assert found[2]["error"]
        times = [each["timestamp"] for each in found]
        assert times == sorted(times)
        server.close_stdin()  # and no signal: a second one would cut the summary short
        await server.exit_code()
    ended = server.audit()[6:]
    assert [(each["event"], each["outcome"], each["identity"]) for each in ended] == [
        ("summary", "ok", "arch"),
        ("shutdown", "ok", "arch"),
    ]


@requirement("FR-9.2")
async def test_what_is_refused_is_audited_with_the_agent_that_it_is_about(team: Team) -> None:
    async with team("--max-concurrent-threads", "2", script=TEAM_SCRIPT) as (server, _model):
        arch = await server.start(say("one"), identity="arch")
        taken = server.call("codex", {"prompt": say("two"), "identity": "arch"}, request_id="taken")
        assert arch["codex_id"] in refusal(await server.result(taken))
        await server.close_agent("arch")
        closed = server.call("codex-reply", {"prompt": say("three"), "identity": "arch"}, request_id="closed")
        refusal(await server.result(closed))
        unknown = server.call("codex_close", {"identity": "nobody"}, request_id="unknown")
        refusal(await server.result(unknown))
        found = {each.get("request_id"): each for each in await entries(server, 5)}
        for request_id, event in (("taken", "codex"), ("closed", "codex-reply")):
            entry = found[request_id]
            assert (entry["event"], entry["outcome"], entry["identity"]) == (event, "refused", "arch")
            assert entry["codex_id"] == arch["codex_id"]
        assert (found["unknown"]["outcome"], "codex_id" in found["unknown"]) == ("refused", False)
        assert "nobody" in found["unknown"]["error"]


@requirement("FR-9.2", "NFR-3")
async def test_prompts_are_shortened_and_secrets_masked(team: Team) -> None:
    secret = "sk-" + "proj-" + "x7Q" * 16
    async with team(script=TEAM_SCRIPT) as (server, _model):
        await server.start(f"use {secret} {'and so on ' * 50}{say('done')}", identity="arch")
        (entry,) = await entries(server, 1)
        assert entry["what"].startswith("use ")
        assert len(entry["what"]) == 200
    for file in ("audit.jsonl", "registry.json"):
        assert secret not in (server.state_dir / file).read_text()
    assert secret not in server.log


@requirement("FR-9.3")
async def test_approvals_are_audited_whoever_decides(team: Team) -> None:
    async with team(script=TEAM_SCRIPT) as (server, _model):
        call = server.call(
            "codex", {"prompt": "[[scene: escalate]]", "identity": "arch", **ASKS}, request_id="approved"
        )
        server.send({"jsonrpc": "2.0", "id": (await server.question())["id"], "result": {"decision": "approved"}})
        assert structured(await server.result(call))["content"] == "It ran."
        found = await entries(server, 2)
        assert [(each["event"], each["outcome"], each["request_id"]) for each in found] == [
            ("approval", "ok", "approved"),
            ("codex", "ok", "approved"),
        ]
        assert (found[0]["what"], found[0]["identity"]) == ("approved", "arch")
        assert (found[0]["by"], found[0]["via"]) == (CLIENT, "elicitation")
    async with team(script=TEAM_SCRIPT, elicitation=False) as (server, _model):
        asked = await server.start("[[scene: escalate]]", identity="dev", **ASKS)
        (approval,) = asked["approvals"]
        answer = {"id": approval["id"], "decision": "denied"}
        await server.result(server.call("codex_approvals", answer, request_id="answer"))
        await server.run("codex_wait", {"ids": ["dev"]})

        def of_dev() -> list[Json]:
            return [each for each in server.audit() if each.get("identity") == "dev"]

        await server.until(lambda: len(of_dev()) == 4)
        found = of_dev()
        assert [(each["event"], each["outcome"], each.get("what")) for each in found] == [
            ("codex", "running", "[[scene: escalate]]"),
            ("approval", "refused", "denied"),
            ("codex_approvals", "ok", "denied"),
            ("codex", "ok", "[[scene: escalate]]"),
        ]
        assert (found[1]["by"], found[1]["via"]) == (CLIENT, "codex_approvals")
        assert found[2]["request_id"] == "answer"


async def test_a_question_that_nobody_answers_in_time_is_expired_and_the_agent_reads_why(team: Team) -> None:
    async with team("--approval-timeout", "0.2", script=TEAM_SCRIPT, elicitation=False) as (server, model):
        await server.start("[[scene: escalate]]", identity="arch", background=True, **ASKS)
        finished: list[Json] = []
        while not finished:  # the question is news as well
            finished = structured(await server.run("codex_wait", {"ids": ["arch"]}))["finished"]
        (approval,) = [each for each in server.audit() if each["event"] == "approval"]
        assert (approval["outcome"], approval["what"], approval["via"]) == ("timed_out", "expired", "timeout")
        assert "by" not in approval
        (warning,) = finished[0]["warnings"]
        assert warning.endswith("which expired: no one answered within 0.2 seconds.")
        assert "no one answered within 0.2 seconds" in str(model.requests[-1].body)


@requirement("FR-9.2")
async def test_an_entry_is_in_the_file_when_its_call_is_answered_however_slow_the_file_is(team: Team) -> None:
    async with team(script=TEAM_SCRIPT) as (server, model):
        await server.start(say("one"), identity="arch")
        calls: list[tuple[str, Json, str]] = [
            ("codex-reply", {"prompt": say("two"), "identity": "arch"}, "ok"),
            ("codex-reply", {"prompt": "[[scene: fail]]", "identity": "arch"}, "failed"),
            ("codex", {"prompt": gate(), "identity": "dev", "background": True}, "running"),
            ("codex", {"prompt": say("x"), "identity": "arch"}, "refused"),
            ("codex_status", {}, "ok"),
            ("codex_close", {"identity": "arch"}, "ok"),
        ]
        for number, (tool, arguments, outcome) in enumerate(calls):
            # Whoever holds the lock keeps each entry from the file for a while, and so its answer from the caller.
            with held(server.state_dir / "audit.jsonl"):
                await server.result(server.call(tool, arguments, request_id=f"call {number}"))
                entry = server.audit()[-1]
            assert (entry["request_id"], entry["event"], entry["outcome"]) == (f"call {number}", tool, outcome)
        model.release("gate")


@contextlib.contextmanager
def held(path: Path) -> Iterator[None]:
    """Hold the lock of a file."""
    descriptor = os.open(path, os.O_RDWR)
    try:
        with flocked(descriptor, PATIENCE):
            yield
    finally:
        os.close(descriptor)


@requirement("FR-9.3")
async def test_calls_that_only_look_or_fail_are_audited_with_their_requests(team: Team) -> None:
    async with team(script=TEAM_SCRIPT) as (server, _model):
        calls: list[tuple[str, Json, str]] = [
            ("codex_status", {}, "ok"),
            ("codex_threads", {}, "ok"),
            ("agent_sessions", {}, "ok"),
            ("codex_wait", {"timeout-seconds": 0}, "ok"),
            ("codex_approvals", {}, "ok"),
            ("codex", {"prompt": say("x"), "identity": "No Name"}, "refused"),
            ("codex", {"prompt": say("x"), "role": "nobody"}, "refused"),
            ("codex-reply", {"prompt": say("x")}, "refused"),
        ]
        for number, (tool, arguments, _) in enumerate(calls):
            await server.result(server.call(tool, arguments, request_id=f"call {number}"))
        found = await entries(server, len(calls))
        assert [(each["request_id"], each["event"], each["outcome"]) for each in found] == [
            (f"call {number}", tool, outcome) for number, (tool, _, outcome) in enumerate(calls)
        ]
        assert all(each["error"] for each in found if each["outcome"] == "refused")
