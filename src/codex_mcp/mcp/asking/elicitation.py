"""Pure. A question as the parameters of `elicitation/create`.

The form is a flat object of primitives, valid for MCP 2025-06-18 and later; beside it stand the `codex_*` fields of
0.153.4, so that a client made for `codex mcp-server` finds what it knows. `decision` is never required and has no
default: a client that accepts without choosing approves this once, and nothing more.

Text of the model or of an inner server is made visible in the message; the `codex_*` fields carry it as it is.
"""

from typing import assert_never

import msgspec

from codex_mcp.base.printable import one_line, visible
from codex_mcp.mcp.asking.forms import decision_form, is_flat_form, user_form
from codex_mcp.threads.questions.approvals import offered
from codex_mcp.threads.questions.decisions import NO_CAPABILITY, old_decision
from codex_mcp.threads.questions.questions import (
    CommandQuestion,
    Json,
    PatchQuestion,
    PermissionsQuestion,
    Question,
    ServerQuestion,
    UserQuestion,
)

ELICITATION_KINDS = {
    CommandQuestion: "exec-approval",
    PatchQuestion: "patch-approval",
    PermissionsQuestion: "permissions-approval",
    UserQuestion: "user-input",
    ServerQuestion: "mcp-elicitation",
}
"""Values of `codex_elicitation`; the first two are those of 0.153.4."""

PATCH_MESSAGE = "Allow Codex to apply proposed code changes?"
URL_MODE = "url"
FORM_MODES = ("form", "openai/form", "openaiForm")
"""Modes of an inner server's question that are forms; ours is forwarded as the standard one if it is flat."""

LOCAL_ENVIRONMENT = "local"
"""Codex's name for this machine; any other place is named in the message."""


def can_ask(capabilities: Json, mode: str = "form") -> bool:
    """Has the client declared elicitation of this mode? An empty declaration means forms (2025-06-18)."""
    declared = capabilities.get("elicitation")
    if not isinstance(declared, dict):
        return False
    if "form" not in declared and "url" not in declared:
        return mode == "form"
    return isinstance(declared.get(mode), dict)


def why_not_asked(question: Question, capabilities: Json) -> str | None:
    """Why this client cannot be asked this question; None if it can."""
    is_form = True
    if isinstance(question, ServerQuestion) and not question.is_tool_approval:
        who = f"the MCP server {question.server_name}"
        is_form = question.mode in FORM_MODES
        if question.mode == URL_MODE and not can_ask(capabilities, URL_MODE):
            return f"nobody could be asked: {who} wants a page opened, and the MCP client does not support that"
        if is_form and not is_flat_form(question.schema):
            return f"nobody could be asked: {who} sent a form that MCP clients cannot show"
        if not is_form and question.mode != URL_MODE:
            return f"nobody could be asked: {who} asks in a way ({question.mode}) that MCP has no form for"
    return NO_CAPABILITY if is_form and not can_ask(capabilities) else None


def elicitation_params(question: Question, *, tool_call_id: str | int) -> dict[str, object]:
    """The parameters of `elicitation/create`. `tool_call_id` is the id of the tools/call that is waiting."""
    params: dict[str, object] = {
        "message": message_for(question),
        **_form(question),
        "threadId": question.thread_id,
        "codex_elicitation": ELICITATION_KINDS[type(question)],
        "codex_mcp_tool_call_id": str(tool_call_id),
        "codex_event_id": question.turn_id,
        "codex_call_id": question.item_id,
        **_details(question),
    }
    if question.reason:
        params["codex_reason"] = question.reason
    if choices := offered(question):
        params["codex_available_decisions"] = [old_decision(choice) for choice in choices]
    return params


def message_for(question: Question) -> str:
    """What the person reads. The first line of a command and the last of a patch are those of 0.153.4."""
    match question:
        case CommandQuestion():
            lines = [_command_message(question), *_permission_lines(question.permissions or {})]
            lines += [f"Reason: {one_line(question.reason)}"] if question.reason else []
        case PatchQuestion():
            lines = [visible(question.reason)] if question.reason else []
            lines += [f"This also allows writing below `{one_line(question.grant_root)}`."] * bool(question.grant_root)
            lines += [PATCH_MESSAGE]
        case PermissionsQuestion():
            lines = [f"Allow Codex these permissions in `{one_line(question.cwd)}`?"]
            lines += _permission_lines(question.permissions)
            lines += [f"Reason: {one_line(question.reason)}"] if question.reason else []
        case UserQuestion():
            lines = ["Codex asks:", *(visible(asked.question) for asked in question.questions)]
        case ServerQuestion(is_tool_approval=True):
            lines = [visible(question.message), *_tool_lines(question.meta)]
        case ServerQuestion():
            lines = [f"The MCP server {one_line(question.server_name)} asks: {visible(question.message)}"]
        case _:
            assert_never(question)
    return "\n".join(lines)


def _command_message(question: CommandQuestion) -> str:
    where = f" on `{one_line(question.environment)}`" if question.environment not in ("", LOCAL_ENVIRONMENT) else ""
    if question.network is not None:
        run = f" for `{visible(question.command_line)}`" if question.command_line else ""
        return f"Allow Codex to reach `{one_line(question.network.host)}` ({question.network.protocol}){run}{where}?"
    if question.is_stdin:
        return f"Allow Codex to type `{visible(question.command_line)}` into a running terminal{where}?"
    return f"Allow Codex to run `{visible(question.command_line)}` in `{visible(question.cwd)}`{where}?"


def _tool_lines(meta: Json) -> list[str]:
    """The tool's arguments: nobody should allow a call without seeing what it is called with."""
    arguments = meta.get("tool_params")
    return [f"Arguments: {one_line(msgspec.json.encode(arguments).decode())}"] if arguments else []


def _permission_lines(permissions: Json) -> list[str]:
    """Each permission on its own line: network, and each path with its access."""
    network, files = permissions.get("network"), permissions.get("fileSystem")
    lines = ["- network access"] if isinstance(network, dict) and network.get("enabled") else []
    if not isinstance(files, dict):
        return lines
    if entries := files.get("entries"):
        return lines + [f"- {_entry(entry)}" for entry in entries if isinstance(entry, dict)]
    for access in ("read", "write"):
        lines += [f"- {access} `{one_line(str(path))}`" for path in files.get(access) or []]
    return lines


def _entry(entry: Json) -> str:
    where = entry.get("path")
    place = where if isinstance(where, dict) else {}
    named = place.get("path") or place.get("pattern") or place.get("value") or where
    return f"{entry.get('access')} `{one_line(str(named))}`"


def _form(question: Question) -> dict[str, object]:
    match question:
        case ServerQuestion(is_tool_approval=False, mode=mode) if mode == URL_MODE:
            return {"mode": URL_MODE, "url": question.url, "elicitationId": question.elicitation_id}
        case ServerQuestion(is_tool_approval=False):
            return {"requestedSchema": dict(question.schema or {"type": "object", "properties": {}})}
        case UserQuestion():
            return {"requestedSchema": user_form(question)}
        case _:
            return {"requestedSchema": decision_form(question)}


def _details(question: Question) -> dict[str, object]:
    """What a client's own screen needs, by kind of question. Raw: the client shows it its own way."""
    match question:
        case CommandQuestion():
            return _command_details(question)
        case PatchQuestion():
            root = {"codex_grant_root": question.grant_root} if question.grant_root else {}
            return {"codex_changes": dict(question.changes), **root}
        case PermissionsQuestion():
            return {"codex_cwd": question.cwd, "codex_permissions": dict(question.permissions)}
        case UserQuestion():
            return {"codex_secret_questions": [asked.id for asked in question.questions if asked.is_secret]}
        case ServerQuestion():
            return {"codex_mcp_server": question.server_name, "codex_mcp_meta": dict(question.meta)}
        case _:
            assert_never(question)


def _command_details(question: CommandQuestion) -> dict[str, object]:
    details: dict[str, object] = {
        "codex_command": list(question.command),
        "codex_cwd": question.cwd,
        "codex_parsed_cmd": [dict(part) for part in question.parsed_cmd],
    }
    if question.proposed_rule:
        details["codex_proposed_execpolicy_amendment"] = list(question.proposed_rule)
    if question.network is not None:
        details["codex_network"] = {"host": question.network.host, "protocol": question.network.protocol}
    if question.permissions is not None:
        details["codex_permissions"] = dict(question.permissions)
    return details
