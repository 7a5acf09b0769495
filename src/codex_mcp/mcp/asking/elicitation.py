"""Pure. A question as the parameters of `elicitation/create`, and in words.

A form is a flat object of strings, numbers, booleans and string enumerations titled by `enumNames`, as MCP 2025-06-18
allows. 2025-11-25 adds `oneOf` titles and arrays of choices, which are forwarded from inner servers. The `codex_*`
fields beside the form are those of 0.153.4, for clients written for `codex mcp-server`. `decision` is never required
and has no default: a client that accepts without choosing approves this once.

In the message, text from the model or an inner server is made printable; the `codex_*` fields carry it unchanged.
"""

import shlex
from collections.abc import Sequence
from typing import assert_never

import msgspec

from codex_mcp.base.printable import one_line, visible
from codex_mcp.threads.questions.approvals import OTHER_SUFFIX, Choice, choices
from codex_mcp.threads.questions.decisions import (
    MAX_REASON_CHARS,
    Aborted,
    Approved,
    Decision,
    NetworkRuled,
    RuleApproved,
    Scope,
)
from codex_mcp.threads.questions.permissions import permission_lines
from codex_mcp.threads.questions.questions import (
    CommandQuestion,
    Json,
    PatchQuestion,
    PermissionsQuestion,
    Question,
    ServerQuestion,
    UserQuestion,
)
from codex_mcp.wire.app.questions import InputQuestion

ELICITATION_KINDS = {
    CommandQuestion: "exec-approval",
    PatchQuestion: "patch-approval",
    PermissionsQuestion: "permissions-approval",
    UserQuestion: "user-input",
    ServerQuestion: "mcp-elicitation",
}
"""Values of `codex_elicitation`; the first two come from 0.153.4."""

PATCH_MESSAGE = "Allow Codex to apply proposed code changes?"
URL_MODE = "url"
FORM_MODES = ("form", "openai/form", "openaiForm")
"""Modes of an inner server's question that are forms. A flat form is forwarded as a standard one."""

FILES_SHOWN = 20
"""Files of a patch that its question names."""

CHANGE_KINDS = ("add", "delete", "update")

LOCAL_ENVIRONMENT = "local"
"""Codex's name for this machine; any other place is named in the message."""

PRIMITIVES = ("string", "number", "integer", "boolean")

NESTING_KEYS = ("properties", "items", "$ref", "anyOf", "allOf", "not", "if")
"""Keys of JSON Schema that make a property more than a primitive."""


def elicitation_params(question: Question, *, tool_call_id: str | int) -> dict[str, object]:
    """The parameters of `elicitation/create`; `tool_call_id` is the id of the waiting tools/call."""
    offered = choices(question)
    params: dict[str, object] = {
        "message": message_for(question),
        **form_of(question, offered),
        "threadId": question.thread_id,
        "codex_elicitation": ELICITATION_KINDS[type(question)],
        "codex_mcp_tool_call_id": str(tool_call_id),
        "codex_event_id": question.turn_id,
        "codex_call_id": question.item_id,
        **_details(question),
    }
    if question.reason:
        params["codex_reason"] = question.reason
    if offered:
        params["codex_available_decisions"] = [choice.old for choice in offered]
    return params


def message_for(question: Question) -> str:
    """What the person reads. The line that asks is that of 0.153.4."""
    match question:
        case CommandQuestion():
            lines = [_command_message(question)]
            lines += _dashed(permission_lines(question.permissions)) if question.permissions else []
            lines += [f"Reason: {one_line(question.reason)}"] if question.reason else []
        case PatchQuestion():
            lines = [visible(question.reason)] if question.reason else []
            if question.grant_root:
                lines.append(f"This also allows writing below `{one_line(question.grant_root)}`.")
            lines += [PATCH_MESSAGE, *_file_lines(question.changes)]
        case PermissionsQuestion():
            lines = [f"Allow Codex these permissions in `{one_line(question.cwd)}`?"]
            lines += _dashed(permission_lines(question.permissions))
            lines += [f"Reason: {one_line(question.reason)}"] if question.reason else []
        case UserQuestion():
            lines = ["Codex asks:", *(visible(asked.question) for asked in question.questions)]
        case ServerQuestion(is_tool_approval=True):
            lines = [visible(question.message), *_tool_lines(question.meta)]
        case ServerQuestion():
            lines = [f"The MCP server {one_line(question.server_name)} asks: {visible(question.message)}"]
        case _:
            assert_never(question)
    return "\n".join([f"{one_line(question.asker)} asks:", *lines] if question.asker else lines)


def _command_message(question: CommandQuestion) -> str:
    where = f" on `{one_line(question.environment)}`" if question.environment not in ("", LOCAL_ENVIRONMENT) else ""
    if question.network is not None:
        run = f" for `{visible(question.command_line)}`" if question.command_line else ""
        return f"Allow Codex to reach `{one_line(question.network.host)}` ({question.network.protocol}){run}{where}?"
    if question.is_stdin:
        return f"Allow Codex to type `{visible(question.command_line)}` into a running terminal{where}?"
    return f"Allow Codex to run `{visible(question.command_line)}` in `{visible(question.cwd)}`{where}?"


def _file_lines(changes: Json) -> list[str]:
    """Each file that a patch changes on its own line, as far as they are few."""
    lines = [f"- {_change_kind(change)} `{one_line(path)}`" for path, change in changes.items()]
    more = len(lines) - FILES_SHOWN
    return lines if more <= 0 else [*lines[:FILES_SHOWN], f"- and {more} more files"]


def _change_kind(change: object) -> str:
    kind = change.get("type") if isinstance(change, dict) else None
    return kind if isinstance(kind, str) and kind in CHANGE_KINDS else "change"


def _tool_lines(meta: Json) -> list[str]:
    """The tool's arguments, without which a person cannot judge the call."""
    arguments = meta.get("tool_params")
    return [f"Arguments: {one_line(msgspec.json.encode(arguments).decode())}"] if arguments else []


def _dashed(lines: Sequence[str]) -> list[str]:
    return [f"- {line}" for line in lines]


def form_of(question: Question, offered: Sequence[Choice]) -> dict[str, object]:
    """The form that a person fills, or the page that is opened; `offered` is what can be decided."""
    match question:
        case ServerQuestion(is_tool_approval=False, mode=mode) if mode == URL_MODE:
            return {"mode": URL_MODE, "url": question.url, "elicitationId": question.elicitation_id}
        case ServerQuestion(is_tool_approval=False):
            return {"requestedSchema": dict(question.schema or {"type": "object", "properties": {}})}
        case UserQuestion():
            return {"requestedSchema": user_form(question)}
        case _:
            return {"requestedSchema": decision_form(question, offered)}


def _details(question: Question) -> dict[str, object]:
    """The `codex_*` fields of one kind of question, unescaped: the client decides how to show them."""
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


def decision_form(question: Question, offered: Sequence[Choice]) -> dict[str, object]:
    """The form of an approval: one of the offered decisions, and a reason. Nothing is required."""
    decision: dict[str, object] = {
        "type": "string",
        "title": "Decision",
        "description": "Accepting without a choice approves this once.",
        "enum": [choice.word for choice in offered],
        "enumNames": [title_of(question, choice.decision) for choice in offered],
    }
    reason: dict[str, object] = {
        "type": "string",
        "title": "Reason",
        "description": "If you deny: why. Codex is told.",
        "maxLength": MAX_REASON_CHARS,
    }
    return {"type": "object", "properties": {"decision": decision, "reason": reason}}


def user_form(question: UserQuestion) -> dict[str, object]:
    """One field for each question, and a second one where a free answer is allowed beside the choices."""
    fields: dict[str, object] = {}
    for asked in question.questions:
        fields[asked.id] = _input_field(asked)
    for asked in question.questions:
        if asked.options and asked.is_other:
            # A question whose id happens to end like this keeps its own field.
            fields.setdefault(asked.id + OTHER_SUFFIX, {"type": "string", "title": f"{asked.header}: other"})
    return {"type": "object", "properties": fields}


def is_flat_form(schema: Json | None) -> bool:
    """Can MCP clients show this form, an object whose properties are primitives or choices?"""
    if schema is None or schema.get("type") != "object":
        return False
    properties = schema.get("properties")
    return isinstance(properties, dict) and all(map(_is_flat_field, properties.values()))


def _is_flat_field(field: object) -> bool:
    if not isinstance(field, dict):
        return False
    if field.get("type") == "array":
        items = field.get("items")
        return isinstance(items, dict) and (_are_words(items.get("enum")) or _are_titled(items.get("anyOf")))
    if any(key in field for key in NESTING_KEYS) or field.get("type") not in PRIMITIVES:
        return False
    return _are_titled(field["oneOf"]) if "oneOf" in field else "enum" not in field or _are_words(field["enum"])


def _are_words(values: object) -> bool:
    return isinstance(values, list) and all(isinstance(value, str) for value in values)


def _are_titled(values: object) -> bool:
    return isinstance(values, list) and all(isinstance(value, dict) and "const" in value for value in values)


def _input_field(asked: InputQuestion) -> dict[str, object]:
    notes = [asked.question, *(f"{option.label}: {option.description}" for option in asked.options or [])]
    if asked.is_secret:
        notes.append("The answer is a secret.")
    field: dict[str, object] = {"type": "string", "title": asked.header, "description": "\n".join(notes)}
    if asked.options:
        field["enum"] = [option.label for option in asked.options]
        field["enumNames"] = [option.label for option in asked.options]
    return field


def title_of(question: Question, decision: Decision) -> str:
    """What a decision about this question does, for a person or a model that has to choose."""
    match decision:
        case Approved(Scope.ONCE):
            return "Allow for this turn" if isinstance(question, PermissionsQuestion) else "Allow this once"
        case Approved(Scope.SESSION):
            return "Allow for this session"
        case Approved(Scope.ALWAYS):
            return "Always allow this tool"
        case RuleApproved(rule):
            return f"Allow, and always allow commands that begin with `{one_line(shlex.join(rule))}`"
        case NetworkRuled(rule):
            return f"{'Always allow' if rule.action == 'allow' else 'Always refuse'} {one_line(rule.host)}"
        case Aborted():
            return "Deny, and stop the turn"
        case _:
            return "Deny, and let Codex go on"


def saved_by(decision: Decision) -> str:
    """The rule that Codex saves with this decision; empty if it saves none."""
    match decision:
        case RuleApproved(rule):
            return one_line(shlex.join(rule))
        case NetworkRuled(rule):
            return one_line(f"{rule.action} {rule.host}")
        case _:
            return ""


def client_question(question: Question) -> str:
    """A question that the client was asked, for a result that says what the turn waits for."""
    return f"{message_for(question)}\n  The client was asked this (elicitation/create) and has not answered yet."


def fetched_question(question: Question) -> str:
    """The same for a question that only the client that started the turn can fetch and answer."""
    return (
        f"{message_for(question)}\n  The client that started the turn can answer this, if it supports elicitation: its "
        "next codex_wait returns the question. Without an answer it is denied in a while."
    )
