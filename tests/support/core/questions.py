"""Requests of the app-server in the shape of 0.163.0, with texts of our own."""

import msgspec

from codex_mcp.codex.reading import read_question
from codex_mcp.threads.questions.questions import Json, Method, Question, question_from
from codex_mcp.wire.app.questions import Asked, UnreadableQuestion
from codex_mcp.wire.legacy import LegacyApproval

IDS: Json = {"threadId": "thread-1", "turnId": "turn-1", "itemId": "call-1", "startedAtMs": 1}
RULE = ["make", "docs"]
COMMAND: Json = {
    **IDS,
    "kind": "command",
    "environmentId": "local",
    "reason": "The page must be written outside.",
    "command": "/bin/bash -lc 'make docs && echo ok'",
    "cwd": "/home/ada/site",
    "commandActions": [{"type": "unknown", "command": "make docs && echo ok"}],
    "proposedExecpolicyAmendment": RULE,
    "availableDecisions": ["accept", {"acceptWithExecpolicyAmendment": {"execpolicy_amendment": RULE}}, "cancel"],
}
NETWORK: Json = {
    **IDS,
    "networkApprovalContext": {"host": "example.org", "protocol": "https"},
    "proposedNetworkPolicyAmendments": [
        {"host": "example.org", "action": "allow"},
        {"host": "example.org", "action": "deny"},
    ],
}
PATCH: Json = {**IDS, "reason": None, "grantRoot": None}
CHANGES: Json = {"/home/ada/site/a.txt": {"type": "add", "content": "one\n"}}
PERMISSIONS: Json = {
    **IDS,
    "cwd": "/home/ada/site",
    "reason": "The cache lies elsewhere.",
    "permissions": {
        "network": {"enabled": True},
        "fileSystem": {
            "read": None,
            "write": ["/var/cache"],
            "entries": [{"path": {"type": "path", "path": "/var/cache"}, "access": "write"}],
        },
    },
}
USER_INPUT: Json = {
    **IDS,
    "isBlocking": True,
    "questions": [
        {
            "id": "colour",
            "header": "Colour",
            "question": "Which colour?",
            "isOther": True,
            "options": [{"label": "Red", "description": "warm"}, {"label": "Blue", "description": "cold"}],
        },
        {"id": "token", "header": "Token", "question": "Which token?", "isSecret": True, "options": None},
    ],
}
TOOL: Json = {
    "threadId": "thread-1",
    "turnId": "turn-1",
    "serverName": "weather",
    "mode": "form",
    "message": 'Allow the weather MCP server to run tool "forecast"?',
    "requestedSchema": {"type": "object", "properties": {}},
    "_meta": {
        "codex_approval_kind": "mcp_tool_call",
        "persist": ["session", "always"],
        "tool_params": {"city": "Riga"},
    },
}
INNER_FORM: Json = {
    "threadId": "thread-1",
    "turnId": None,
    "serverName": "weather",
    "mode": "form",
    "message": "Which city?",
    "requestedSchema": {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]},
}
INNER_URL: Json = {
    "threadId": "thread-1",
    "serverName": "weather",
    "mode": "url",
    "message": "Sign in.",
    "url": "https://example.org/in",
    "elicitationId": "el-1",
}

OLD_COMMAND: Json = {
    "elicitation": {
        "message": "Allow Codex to run it?",
        "requestedSchema": {"type": "object", "properties": {}},
        "threadId": "thread-1",
        "codex_elicitation": "exec-approval",
        "codex_mcp_tool_call_id": "3",
        "codex_event_id": "turn-1",
        "codex_call_id": "call-1",
        "codex_command": ["/bin/bash", "-lc", "make docs"],
        "codex_cwd": "/home/ada/site",
        "codex_parsed_cmd": [{"type": "unknown", "cmd": "make docs"}],
    },
    "announced": {
        "type": "exec_approval_request",
        "call_id": "call-1",
        "reason": "The page must be written outside.",
        "proposed_execpolicy_amendment": RULE,
        "available_decisions": ["approved", "abort"],
    },
}
OLD_PATCH: Json = {
    "elicitation": {
        "threadId": "thread-1",
        "codex_elicitation": "patch-approval",
        "codex_event_id": "turn-1",
        "codex_call_id": "call-1",
        "codex_changes": CHANGES,
        "codex_grant_root": "/home/ada",
    },
    "announced": None,
}
"""Questions of an old Codex, as its core hands them on."""

REQUESTS: list[tuple[Method, Json]] = [
    (Method.EXEC, COMMAND),
    (Method.EXEC, NETWORK),
    (Method.PATCH, PATCH),
    (Method.PERMISSIONS, PERMISSIONS),
    (Method.USER_INPUT, USER_INPUT),
    (Method.MCP, TOOL),
    (Method.MCP, INNER_FORM),
    (Method.MCP, INNER_URL),
]


def asked(method: str, params: object, **changed: object) -> Asked:
    """The request as a core passes it on; `changed` replaces parameters."""
    assert isinstance(params, dict)
    given = {**params, **changed}
    if method == Method.OLD:
        return msgspec.convert({name: value for name, value in given.items() if value is not None}, LegacyApproval)
    return read_question(method, msgspec.Raw(msgspec.json.encode(given)))


def ask(method: str, params: object, **changed: object) -> Question:
    """The question of a request that must be readable; `changed` replaces parameters."""
    question = question_from(asked(method, params, **changed), lambda _: CHANGES)
    assert not isinstance(question, UnreadableQuestion), question.why
    return question


def every_question() -> list[Question]:
    """One question of each form that Codex asks."""
    return [ask(method, params) for method, params in REQUESTS]
