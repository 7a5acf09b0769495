"""Agents and questions for pages, and text that means harm."""

from typing import Any

from codex_mcp.control.asked import Asked
from codex_mcp.dashboard.views.facts import AgentFacts, RunBy
from codex_mcp.wire import control

NOW = 1_800_000_000.0

HARM = '<img src=x onerror="alert(1)"></script><b>\u202e\x1b[2J\u200b"\'`{{ 7 * 7 }}'


def agent(name: str = "api-1", **changes: Any) -> AgentFacts:
    """One that a server runs, idle, used a minute ago."""
    base: dict[str, Any] = {
        "codex_id": f"codex:{name}",
        "identity": name,
        "thread_id": f"thread-{name}",
        "last_active": "2027-01-15T07:59:00.000Z",
        "owner": RunBy("node", 4711),
    }
    return AgentFacts(**(base | changes))


def asked(kind: str = "exec", **changes: Any) -> Asked:
    """A question of api-1, a minute old."""
    fields: dict[str, dict[str, object]] = {
        "exec": {"command_line": "/bin/bash -lc 'git push'", "cwd": "/src"},
        "patch": {"changes": {"/src/a.py": {"type": "update", "unified_diff": "@@ -1 +1 @@\n-a\n+b\n"}}},
        "permissions": {"cwd": "/src", "permissions": {"network": {"enabled": True}}},
        "user_input": {"questions": [{"id": "colour", "header": "C", "question": "Which?", "options": None}]},
        "mcp": {"server_name": "inner", "message": "May I?", "is_tool_approval": True},
    }
    base: dict[str, Any] = {
        "id": "1f/question-1",
        "kind": kind,
        "state": "open",
        "agent": "api-1",
        "thread": "thread-api-1",
        "principal": "local",
        "message": "Allow it?",
        "fields": fields.get(kind, {}),
        "offered": [control.Offer("approved", "Allow this once"), control.Offer("denied", "Deny")],
        "asked_at": NOW - 60,
        "deadline": NOW + 600,
        "digest": "d",
    }
    if kind == "user_input":
        base |= {"offered": (), "form": {"type": "object", "properties": {"colour": {"type": "string"}}}}
    return Asked(control.Question(**(base | changes)), "node", "server process 4711")


def receipt(**changes: Any) -> control.Receipt:
    """Approved by mira on a page."""
    base: dict[str, Any] = {
        "state": "decided",
        "decision": "approved",
        "by": "mira",
        "via": "page",
        "at": NOW,
        "sentence": "It was.",
    }
    return control.Receipt(**(base | changes))
