"""What the team's tools answer is as their schemas say, and reads well."""

import jsonschema
import mcp_types
import msgspec
from msgspec.structs import replace

from codex_mcp.mcp.schema import team_catalogue as catalogue
from codex_mcp.mcp.schema.catalogue import Tool
from codex_mcp.mcp.schema.results import ToolResult
from codex_mcp.mcp.schema.team_results import (
    ERROR_META,
    Answered,
    OpenApproval,
    agent_names,
    approvals_result,
    close_result,
    listed_question,
    refused_by_team,
    status_result,
    threads_result,
)
from codex_mcp.team import refusals
from codex_mcp.team.agent import AgentState, AgentStatus, AskedElsewhere, Owner
from codex_mcp.threads.questions.questions import CommandQuestion, Method, ServerQuestion
from tests.support.core.questions import COMMAND, ask
from tests.team.test_agent import agent


def checked(result: ToolResult, tool: Tool) -> str:
    """Valid for the official models and for the tool's own schema; returns the text."""
    wire = msgspec.json.decode(msgspec.json.encode(result))
    mcp_types.CallToolResult.model_validate(wire)
    jsonschema.validate(wire["structuredContent"], tool.output)
    text: str = wire["content"][0]["text"]
    return text


def test_agents_are_listed_the_last_used_first_and_no_more_than_asked_for() -> None:
    old = replace(agent(), identity="old", last_active=1.0, status=AgentStatus.STALE, thread_state=AgentState.CLOSED)
    new = replace(agent(), identity="new", last_active=9.0, branch="main", owner=Owner("n", 1, "h"))
    result = threads_result([old, new], 1)
    text = checked(result, catalogue.CODEX_THREADS)
    assert text.splitlines() == ["new  codex:0123456789ab  idle  /srv on main", "… and 1 more"]
    own = {
        "goal": {"objective": "all green", "status": "active"},
        "subagents": [{"threadId": "c", "name": "Nash", "state": "busy", "tokens": 7}],
    }
    listed = threads_result([old], 5, {old.codex_id: own})
    lines = checked(listed, catalogue.CODEX_THREADS).splitlines()
    assert lines[1:] == ['  goal active: "all green"', "  sub-agent Nash busy, 7 tokens"]
    assert "closed (stale)" in checked(threads_result([old], 5), catalogue.CODEX_THREADS)
    assert checked(threads_result([], 5), catalogue.CODEX_THREADS) == "There are no agents."


def test_a_close_a_status_and_a_refusal() -> None:
    assert "is already closed." in checked(close_result(agent(), "already_closed"), catalogue.CODEX_CLOSE)
    status = {"core": {}, "team": "t", "uptime_seconds": 1, "threads": {}, "identities": {}}
    assert "Team t: " in checked(status_result(status), catalogue.CODEX_STATUS)
    refused = refused_by_team(refusals.not_found("x"))
    assert refused.meta == {ERROR_META: {"reason": "not_found", "asked": "x"}}


def test_open_questions_say_how_to_answer_them() -> None:
    open_question = OpenApproval(agent_names(agent()), replace(ask(Method.EXEC, COMMAND), id="turn/question-1"))
    text = checked(approvals_result([open_question]), catalogue.CODEX_APPROVALS)
    assert 'codex_approvals {"id": "turn/question-1", "decision": "approved"}' in text
    answered = checked(approvals_result([], answered=Answered("a", {"codex_id": "codex:1"})), catalogue.CODEX_APPROVALS)
    assert answered == 'Answered a. Collect the agent\'s answer with codex_wait {"ids": ["codex:1"]}.'
    assert checked(approvals_result([]), catalogue.CODEX_APPROVALS) == "Nothing waits for an answer."


def test_a_question_of_another_servers_agent_says_where_alone_it_can_be_answered() -> None:
    asked = AskedElsewhere("turn/question-1", agent(), Owner("n", 7, "h"), "May I?")
    result = approvals_result([], [asked])
    text = checked(result, catalogue.CODEX_APPROVALS)
    assert text == "arch asks: May I?\n  can be answered only at its own server, process 7 on h"
    structured = result.data
    assert isinstance(structured, dict)
    (row,) = structured["approvals"]
    assert (row["owner"], "decisions" in row) == ({"pid": 7, "host": "h"}, False)
    known = replace(asked, answers={"decisions": ["approved", "denied"]})
    text = checked(approvals_result([], [known]), catalogue.CODEX_APPROVALS)
    assert 'answer with codex_approvals {"id": "turn/question-1", "decision": "approved"}' in text
    assert text.endswith("\n  its server, process 7 on h, gets the answer")


ROW: dict[str, object] = {
    "id": "turn/question-1",
    "identity": "arch",
    "question": "May I?",
    "decisions": ["approved", "denied"],
}


def test_a_listed_question_says_its_id_and_the_call_that_answers_it() -> None:
    assert listed_question(ROW) == (
        "arch asks: May I?\n"
        "  question id: turn/question-1\n"
        '  answer with codex_approvals {"id": "turn/question-1", "decision": "approved"}\n'
        '  decisions: approved, denied; "denied" takes a "reason", which the agent is told'
    )


def test_a_question_of_another_server_says_where_it_can_be_answered() -> None:
    owner = {"owner": {"pid": 7, "host": "h"}}
    assert listed_question(ROW | owner) == listed_question(ROW) + "\n  its server, process 7 on h, gets the answer"
    told = listed_question(ROW | owner | {"decisions": []})
    assert told == "arch asks: May I?\n  can be answered only at its own server, process 7 on h"


def test_a_form_says_its_fields_and_how_to_fill_it() -> None:
    schema = {
        "type": "object",
        "properties": {"city": {"type": "string", "enum": ["Oslo", "Rome"]}, "zip": {"type": "string"}},
        "required": ["city"],
    }
    question = ServerQuestion(
        thread_id="t", turn_id="u", id="q", server_name="inner", mode="form", message="Where?", schema=schema
    )
    row = OpenApproval({"threadId": "t", "sessionId": "s"}, question).described()
    assert (row["form"], row["decisions"]) == (schema, ["denied"])
    text = listed_question(row)
    assert text.startswith("session s asks: The MCP server inner asks: Where?")
    assert 'answer with codex_approvals {"id": "q", "content": {"city": …}}' in text
    assert '\n  content: "city" (one of: Oslo, Rome) (required), "zip"' in text


def test_a_page_to_open_is_named() -> None:
    question = ServerQuestion(
        thread_id="t", turn_id="u", server_name="inner", mode="url", message="Sign in", url="https://example.com/\u202e"
    )
    row = OpenApproval({"threadId": "t"}, question).described()
    assert (row["url"], row["decisions"]) == ("https://example.com/\u202e", ["approved", "denied"])
    text = listed_question(row)
    assert text.startswith("thread t asks: ")
    assert "\n  the page to open: https://example.com/\\u{202e}" in text


def test_the_answer_to_a_session_is_collected_by_its_thread() -> None:
    answered = checked(approvals_result([], answered=Answered("a", {"threadId": "t"})), catalogue.CODEX_APPROVALS)
    assert answered == 'Answered a. Collect the agent\'s answer with codex_wait {"threadIds": ["t"]}.'


def test_a_decision_that_saves_a_rule_says_which() -> None:
    question = CommandQuestion(
        thread_id="t",
        turn_id="u",
        command=("touch", "a"),
        command_line="touch a",
        cwd="/",
        proposed_rule=("touch", "a"),
    )
    row = OpenApproval(agent_names(agent()), question).described()
    assert row["rules"] == {
        "approved_execpolicy_amendment": "Allow, and always allow commands that begin with `touch a`"
    }
    assert "\n  approved_execpolicy_amendment: Allow, and always allow commands that begin with `touch a`" in (
        listed_question(row)
    )


def test_the_status_is_a_sentence_and_a_table() -> None:
    status = {
        "core": {"alive": True, "version": "0.163.0"},
        "team": "red",
        "threads": {"active": 2, "busy": 1, "idle": 1, "limit": 10},
        "identities": {"arch": "codex:1", "dev": "codex:2"},
        "busy": ["arch"],
        "queues": {"arch": 3},
        "rate_limits": [{"used_percent": 91.0, "window_minutes": 300, "resets_at": None}],
        "paused": {"dev": "it has used its tokens"},
        "usage": {"tokens": 1200, "cost": 0.5},
        "pending_mail": 4,
        "pending_approvals": 1,
    }
    assert checked(status_result(status), catalogue.CODEX_STATUS).splitlines() == [
        "Codex 0.163.0 runs. Team red: 1 busy and 1 idle agents of at most 10, 4 unread messages, 1 open question, "
        "1200 tokens used, cost 0.5.",
        "Rate limit of the account per 300 minutes: 91 % used.",
        "arch  codex:1  busy  3 prompts waiting",
        "dev  codex:2  idle  paused: it has used its tokens",
    ]
