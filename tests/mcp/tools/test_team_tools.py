"""The tools of a team on the real Codex. Each requirement has its own test in acceptance/team."""

import os
import signal
from pathlib import Path

from tests.support.team.team_server import GATE, refusal, say, structured, team_server


async def test_a_person_who_cannot_be_asked_is_found_by_the_tool(tmp_path: Path) -> None:
    async with team_server(tmp_path, elicitation=False) as (server, _model):
        escalates = '[[scene: escalate cmd="touch made.txt"]]'
        asked = await server.start(escalates, identity="arch", sandbox="read-only", **{"approval-policy": "on-request"})
        assert asked["status"] == "running"
        (approval,) = asked["approvals"]
        assert "touch made.txt" in approval["question"]
        listed = structured(await server.run("codex_approvals", {}))
        assert listed["approvals"] == [approval]
        assert (await server.status())["pending_approvals"] == 1
        undecided = await server.run("codex_approvals", {"id": approval["id"]})
        assert "missing field `decision`" in refusal(undecided)
        answered = await server.run("codex_approvals", {"id": approval["id"], "decision": "approved"})
        assert structured(answered) == {"approvals": [], "answered": approval["id"]}
        (finished,) = structured(await server.run("codex_wait", {"ids": ["arch"]}))["finished"]
        assert finished["status"] == "completed"
        assert (server.setup.work / "made.txt").exists()
        again = await server.run("codex_approvals", {"id": approval["id"], "decision": "approved"})
        assert "No question" in refusal(again)


async def test_a_decision_that_is_listed_can_be_made(tmp_path: Path) -> None:
    async with team_server(tmp_path, elicitation=False) as (server, _model):
        escalates = '[[scene: escalate cmd="touch made.txt"]]'
        asked = await server.start(escalates, identity="arch", sandbox="read-only", **{"approval-policy": "on-request"})
        (approval,) = asked["approvals"]
        always = "approved_execpolicy_amendment"
        assert always in approval["decisions"]
        answered = await server.run("codex_approvals", {"id": approval["id"], "decision": always})
        assert structured(answered)["answered"] == approval["id"]
        await server.run("codex_wait", {"ids": ["arch"]})
        again = await server.start(escalates, sandbox="read-only", **{"approval-policy": "on-request"})
        assert again["status"] == "completed"


async def test_a_wait_by_name_and_the_old_names_of_tools(tmp_path: Path) -> None:
    async with team_server(tmp_path) as (server, model):
        one = await server.start(GATE, identity="arch", background=True)
        await model.wait_for_gate("gate")
        waiting = server.call("codex_wait", {"ids": ["arch", one["codex_id"]], "threadIds": [one["threadId"]]})
        model.release("gate")
        (finished,) = structured(await server.result(waiting))["finished"]
        assert (finished["codex_id"], finished["identity"]) == (one["codex_id"], "arch")
        assert len(structured(await server.run("agent_sessions", {}))["threads"]) == 1
        assert structured(await server.run("agent_status", {}))["team"] == "default"
        assert structured(await server.run("agent_close", {"agent_id": one["codex_id"]}))["closed"] is True
        assert "codex_threads" in refusal(await server.run("codex_wait", {"ids": ["nobody"]}))
        assert "missing field `id`" in refusal(await server.run("codex_close", {}))
        assert "missing field `id`" in refusal(await server.run("codex-reply", {"prompt": say("x")}))


async def test_an_agent_that_codex_does_not_open_before_its_call_is_cancelled_never_came_to_be(tmp_path: Path) -> None:
    async with team_server(tmp_path, "--interrupt-grace", "0.5") as (server, _model):
        await server.start(say("here"), identity="other")
        pid = (await server.status())["core"]["pid"]
        os.kill(pid, signal.SIGSTOP)
        starts = server.call("codex", {"prompt": say("never"), "identity": "arch"})
        begins = server.call("codex-reply", {"prompt": GATE, "identity": "other"})
        server.cancel(starts)
        server.cancel(begins)
        assert "cancelled" in refusal(await server.result(starts))
        assert structured(await server.result(begins))["status"] == "interrupted"
        assert [agent["identity"] for agent in (await server.threads()).values()] == ["other"]
        os.kill(pid, signal.SIGCONT)
        assert (await server.start(say("now"), identity="arch"))["content"] == "now"
        assert (await server.reply("other", say("and I")))["content"] == "and I"
    audited = [(entry["event"], entry["outcome"]) for entry in server.audit()]
    assert audited.count(("codex", "interrupted")) == 1
    assert audited.count(("codex-reply", "interrupted")) == 1
