"""Questions that `codex_approvals` lists and answers, on the real Codex."""

import asyncio
import sys
from pathlib import Path

import msgspec
import pytest

from tests.support.clients import mcp_tool_server
from tests.support.servers.mcp_server import Json
from tests.support.team.team_server import TeamServer, refusal, structured, team_server

SCRIPT = Path(__file__).parents[2] / "support/scripts/questions.toml"
ASKS = {"sandbox": "read-only", "approval-policy": "on-request"}
QUESTIONS = (
    "features.default_mode_request_user_input=true",
    f"mcp_servers.inner.command={msgspec.json.encode(sys.executable).decode()}",
    f"mcp_servers.inner.args={msgspec.json.encode([mcp_tool_server.__file__]).decode()}",
    "mcp_servers.inner.tools.ask.approval_mode=approve",
)


async def listed(server: TeamServer) -> list[Json]:
    approvals: list[Json] = structured(await server.run("codex_approvals", {}))["approvals"]
    return approvals


async def finished(server: TeamServer, **who: object) -> str:
    (answer,) = structured(await server.run("codex_wait", who))["finished"]
    content: str = answer["content"]
    return content


async def test_the_models_own_questions_are_answered_with_content(tmp_path: Path) -> None:
    async with team_server(tmp_path, elicitation=False, script=SCRIPT, overrides=QUESTIONS) as (server, _model):
        asked = await server.start("[[scene: ask-user]]", identity="arch", **ASKS)
        (approval,) = asked["approvals"]
        assert approval["decisions"] == ["denied"]
        assert list(approval["form"]["properties"])[:2] == ["colour", "size"]
        text = (await server.run("codex_approvals", {}))["content"][0]["text"]
        assert f'codex_approvals {{"id": "{approval["id"]}", "content": {{"colour": …}}}}' in text
        assert 'content: "colour" (one of: red, blue), "size" (one of: s, l)' in text
        wrongs: list[Json] = [{"decision": "approved"}, {"content": {"color": "red"}}, {"content": {}}]
        for wrong in wrongs:
            assert "`content`" in refusal(await server.run("codex_approvals", {"id": approval["id"], **wrong}))
        assert await listed(server) == [approval]
        content = {"colour": "red", "size": "l"}
        answered = await server.run("codex_approvals", {"id": approval["id"], "content": content})
        assert structured(answered) == {"approvals": [], "answered": approval["id"]}
        told = await finished(server, ids=["arch"])
        assert '"colour":{"answers":["red"]}' in told
        assert '"size":{"answers":["l"]}' in told


async def test_a_refused_question_of_the_model_is_told_as_refused(tmp_path: Path) -> None:
    async with team_server(tmp_path, elicitation=False, script=SCRIPT, overrides=QUESTIONS) as (server, model):
        asked = await server.start("[[scene: ask-user]]", identity="arch", **ASKS)
        (approval,) = asked["approvals"]
        await server.run("codex_approvals", {"id": approval["id"], "decision": "denied"})
        await finished(server, ids=["arch"])
        assert "The request to ask the user was not approved. Reason given: the user declined" in str(
            model.requests[-1].json["input"]
        )


async def test_a_form_of_an_inner_server_is_answered_with_content(tmp_path: Path) -> None:
    async with team_server(tmp_path, elicitation=False, script=SCRIPT, overrides=QUESTIONS) as (server, _model):
        asked = await server.start("[[scene: ask-form]]", identity="arch", **ASKS)
        (approval,) = asked["approvals"]
        assert approval["form"]["required"] == ["city"]
        missing = refusal(await server.run("codex_approvals", {"id": approval["id"], "decision": "approved"}))
        assert "lacks required fields: city" in missing
        await server.run("codex_approvals", {"id": approval["id"], "content": {"city": "Oslo"}})
        told = await finished(server, ids=["arch"])
        assert "accept" in told
        assert "Oslo" in told


async def test_a_named_session_whose_client_cannot_be_asked_is_listed_and_answered(tmp_path: Path) -> None:
    async with team_server(tmp_path, "--tools", "all", elicitation=False, script=SCRIPT) as (server, _model):
        asked = structured(await server.run("codex", {"prompt": "[[scene: escalate]]", "sessionId": "s", **ASKS}))
        assert asked["status"] == "running"
        (approval,) = asked["approvals"]
        assert (approval["sessionId"], approval["threadId"]) == ("s", asked["threadId"])
        assert await listed(server) == [approval]
        assert (await server.status())["pending_approvals"] == 1
        result = await server.run("codex_approvals", {"id": approval["id"], "decision": "approved"})
        assert structured(result) == {"approvals": [], "answered": approval["id"]}
        assert f'codex_wait {{"threadIds": ["{asked["threadId"]}"]}}' in result["content"][0]["text"]
        assert await finished(server, threadIds=[asked["threadId"]]) == "It ran."
        (decided,) = [each for each in server.audit() if each["event"] == "approval"]
        assert (decided["thread_id"], decided["what"], decided["by"], decided["via"]) == (
            asked["threadId"],
            "approved",
            "tests",
            "codex_approvals",
        )


async def test_what_a_client_is_being_asked_is_not_listed_and_no_news_for_a_wait(tmp_path: Path) -> None:
    async with team_server(tmp_path, script=SCRIPT) as (server, _model):
        call = server.call("codex", {"prompt": "[[scene: escalate]]", "identity": "arch", **ASKS})
        question = await server.question()
        assert await listed(server) == []
        assert (await server.status())["pending_approvals"] == 0
        waited = structured(await server.run("codex_wait", {"ids": ["arch"], "timeout-seconds": 0.1}))
        assert (waited["finished"], "approvals" in waited["running"][0]) == ([], False)
        server.send({"jsonrpc": "2.0", "id": question["id"], "result": {"action": "accept"}})
        assert structured(await server.result(call))["content"] == "It ran."


async def test_a_question_whose_turn_is_stopped_is_withdrawn(tmp_path: Path) -> None:
    async with team_server(tmp_path, elicitation=False, script=SCRIPT) as (server, _model):
        asked = await server.start("[[scene: escalate]]", identity="arch", **ASKS)
        (approval,) = asked["approvals"]
        await server.run("codex_interrupt", {"id": "arch"})
        assert await listed(server) == []
        late = refusal(await server.run("codex_approvals", {"id": approval["id"], "decision": "approved"}))
        assert "s ago: its turn was stopped, or Codex went on without an answer." in late
        (ended,) = [each for each in server.audit() if each["event"] == "approval"]
        assert (ended["outcome"], ended["what"], ended["via"]) == ("interrupted", "withdrawn", "codex")


async def test_whoever_answers_too_late_is_told_who_came_first(tmp_path: Path) -> None:
    async with team_server(tmp_path, elicitation=False, script=SCRIPT) as (server, _model):
        asked = await server.start("[[scene: escalate]]", identity="arch", **ASKS)
        (approval,) = asked["approvals"]
        await server.run("codex_approvals", {"id": approval["id"], "decision": "approved"})
        late = refusal(await server.run("codex_approvals", {"id": approval["id"], "decision": "denied"}))
        assert late.startswith(f"No question {approval['id']} is open any more. It was answered (approved) by tests ")
        assert await finished(server, ids=["arch"]) == "It ran."


@pytest.mark.parametrize("order", [("approved", "denied"), ("denied", "approved")])
async def test_of_two_answers_at_once_exactly_one_is_used(tmp_path: Path, order: tuple[str, str]) -> None:
    async with team_server(tmp_path, elicitation=False, script=SCRIPT) as (server, _model):
        for _ in range(5):
            asked = await server.start("[[scene: escalate]]", **ASKS)
            (approval,) = asked["approvals"]
            calls = [server.call("codex_approvals", {"id": approval["id"], "decision": word}) for word in order]
            first, second = await asyncio.gather(*map(server.result, calls))
            assert structured(first)["answered"] == approval["id"]
            assert f"is open any more. It was answered ({order[0]}) by tests" in refusal(second)
            ran = await finished(server, ids=[asked["codex_id"]])
            assert ran == ("It ran." if order[0] == "approved" else "It was refused.")
