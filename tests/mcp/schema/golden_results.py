"""The results of every kind, for every kind of reader. `python -m tests.mcp.schema.golden_results` writes them anew."""

import re
from pathlib import Path

import msgspec
from msgspec.structs import replace

from codex_mcp.codex.facts import FileChange, Tokens
from codex_mcp.mail.message import IdKind, Message
from codex_mcp.mcp.news import NewsKind
from codex_mcp.mcp.schema.answer_size import Reader, reader_for
from codex_mcp.mcp.schema.mail_results import mail_result, messages
from codex_mcp.mcp.schema.results import (
    ToolResult,
    WaitReport,
    at_work,
    described,
    refused_in_thread,
    turn_result,
    wait_result,
)
from codex_mcp.mcp.schema.session_results import sessions_result
from codex_mcp.mcp.schema.team_results import (
    Answered,
    OpenApproval,
    agent_names,
    approvals_result,
    close_result,
    idle_result,
    interrupt_result,
    quiet_result,
    refused_by_team,
    status_result,
    stopped_result,
    threads_result,
)
from codex_mcp.sessions.session import NamedSession
from codex_mcp.team import refusals
from codex_mcp.team.agent import AgentState, AgentStatus, AskedElsewhere, Owner
from codex_mcp.threads.questions.decisions import NO_CAPABILITY
from codex_mcp.threads.questions.questions import Method
from codex_mcp.threads.record import Outcome, Status, Stopped
from tests.support.core.questions import COMMAND, ask
from tests.team.test_agent import agent

FOLDER = Path(__file__).parent / "golden"

READERS = {
    "text": "opencode",
    "text; errors both": "gemini-cli-mcp-client",
    "structured": "codex-mcp-client",
    "structured; errors text": "claude-code",
    "both": "copilot-cli",
    "text or both; errors both": "qwen-cli-mcp-client",
    "unknown": "mcp",
}
"""A client of each kind, by what its model sees."""

LONG = "".join(f"line {number}\n" for number in range(9_000))
"""Longer than any client holds."""

PAUSED: dict[str, object] = {
    "codex_id": "codex:1",
    "identity": "arch",
    "threadId": "t-1",
    "status": "paused",
    "content": "The agent is paused: it has used its tokens.",
}


def outcome(status: Status, content: str = "Done.", *warnings: str) -> Outcome:
    files = (FileChange("/site/a.txt", "add"),)
    return Outcome("t-1", status, content, "running make", Tokens(1, 2, 3, 4, 5, 6), files, 12.3456, warnings=warnings)


def results_for(reader: Reader) -> dict[str, ToolResult]:
    """Every kind of result."""
    done, running = outcome(Status.COMPLETED), outcome(Status.RUNNING)
    not_allowed = f"The agent asked to run the command `make`, which was refused: {NO_CAPABILITY}."
    return {
        "completed": turn_result(done, reader=reader),
        "completed, as the agent of a team": turn_result(
            done, {"codex_id": "codex:1", "identity": "arch"}, reader=reader
        ),
        "completed, collected": wait_result(WaitReport([described(done, reader=reader)]), reader),
        "running": turn_result(running, reader=reader),
        "running, waited for": wait_result(WaitReport(running=[at_work(running, {})]), reader),
        "failed": turn_result(outcome(Status.FAILED, "Out of tokens."), reader=reader),
        "interrupted": turn_result(outcome(Status.INTERRUPTED, "I was about to"), reader=reader),
        "paused": wait_result(WaitReport(facts=[(NewsKind.PAUSE, PAUSED)]), reader),
        "refused": turn_result(outcome(Status.COMPLETED, "I did without.", not_allowed), reader=reader),
        "refused call": refused_in_thread("Session not found for thread_id: t-1", "t-1", reader),
        "long": turn_result(outcome(Status.COMPLETED, LONG), reader=reader),
        "asked": turn_result(running, asks=["May I run `make`?\n  question id: q"], reader=reader),
        "nothing": wait_result(WaitReport(), reader),
    }


def other_results() -> dict[str, object]:
    """The results that are the same for every reader."""
    one = replace(agent(), branch="main", owner=Owner("n", 1, "h"), cost=0.5)
    old = replace(agent(), last_active=1.0, status=AgentStatus.STALE, thread_state=AgentState.CLOSED)
    own = {
        "goal": {"objective": "all green", "status": "active"},
        "subagents": [{"threadId": "c", "name": "Nash", "state": "busy", "tokens": 7}],
    }
    elsewhere = AskedElsewhere("turn/question-2", old, Owner("n", 7, "h"), "May I?")
    asked = OpenApproval(agent_names(one), replace(ask(Method.EXEC, COMMAND), id="turn/question-1"))
    letter = Message(id="1", id_kind=IdKind.ATM, sender="dev", text="a\n\u202eb", sent_at=5.0, is_urgent=True)
    interrupted = outcome(Status.INTERRUPTED, "I was about to", "slow")
    status = {
        "core": {"alive": True, "version": "0.163.0"},
        "team": "red",
        "threads": {"active": 2, "busy": 1, "idle": 1, "limit": 10},
        "identities": {"arch": "codex:1", "dev": "codex:2"},
        "busy": ["arch"],
        "queues": {"arch": 3},
        "rate_limits": [{"used_percent": 91.0, "window_minutes": 300}, {"used_percent": None}],
        "paused": {"dev": "it has used its tokens"},
        "goals": {"arch": own["goal"]},
        "subagents": {"arch": own["subagents"]},
        "usage": {"tokens": 1200, "cost": 0.5},
        "pending_mail": 1,
        "pending_approvals": 1,
    }
    return {
        "threads": threads_result([old, one], 2, {one.codex_id: own}),
        "threads, cut": threads_result([old, one], 1),
        "no threads": threads_result([], 5),
        "status": status_result(status),
        "status of nothing": status_result({"core": {}, "team": "t", "threads": {}, "identities": {}}),
        "closed": close_result(one, "closed"),
        "interrupted": interrupt_result(one, interrupted, 2, Stopped(("be done",), 1)),
        "interrupted too late": interrupt_result(one, outcome(Status.COMPLETED), 0, Stopped()),
        "interrupted, of Codex": quiet_result(one, Stopped(("be done",), 2)),
        "interrupted, idle": idle_result(one),
        "interrupted review": stopped_result(interrupted),
        "approvals": approvals_result([asked], [elsewhere], Answered("turn/question-3", {"codex_id": "codex:1"})),
        "no approvals": approvals_result([]),
        "refused": refused_by_team(refusals.not_found("x"), ["May I?"]),
        "mail": mail_result(messages("arch", [letter], 2)),
        "sessions": sessions_result([NamedSession(id="s", created=0, used=60, turns=3, thread="t", model="m")]),
        "no sessions": sessions_result([]),
    }


def other_golden() -> bytes:
    return msgspec.json.format(msgspec.json.encode(other_results()), indent=1) + b"\n"


def golden(kind: str) -> bytes:
    """The file of one kind of reader. Of a run of lines, the first and the last are named."""
    found = results_for(reader_for(READERS[kind], "2025-11-25", None, is_local=True))
    text = msgspec.json.encode(found).decode()
    text = re.sub(r"line (\d+)\\n(?:line \d+\\n)*line (\d+)(?:\\n)?", r"<lines \1 to \2>", text)
    return msgspec.json.format(text.encode(), indent=1) + b"\n"


if __name__ == "__main__":
    for name in READERS:
        (FOLDER / f"{name}.json").write_bytes(golden(name))
    (FOLDER / "others.json").write_bytes(other_golden())
