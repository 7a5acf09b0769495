"""Pure. The forms of our elicitations, and the test that a form of others is one that MCP clients can show.

MCP 2025-06-18 allows a flat object of strings, numbers, booleans and string enumerations (titled by `enumNames`);
2025-11-25 keeps that and adds `oneOf` titles and arrays of choices. We write the former and forward the latter too.
"""

import shlex

from codex_mcp.base.printable import one_line
from codex_mcp.threads.questions.approvals import OTHER_SUFFIX, offered
from codex_mcp.threads.questions.decisions import (
    MAX_REASON_CHARS,
    Aborted,
    Approved,
    Decision,
    NetworkRuled,
    RuleApproved,
    Scope,
    word_for,
)
from codex_mcp.threads.questions.questions import Json, PermissionsQuestion, Question, UserQuestion
from codex_mcp.wire.app.questions import InputQuestion

PRIMITIVES = ("string", "number", "integer", "boolean")

NESTING_KEYS = ("properties", "items", "$ref", "anyOf", "allOf", "not", "if")
"""Keys of JSON Schema that make a property more than a primitive."""


def decision_form(question: Question) -> dict[str, object]:
    """The form of an approval: which of the offered decisions, and why not. Nothing is required."""
    choices = offered(question)
    decision: dict[str, object] = {
        "type": "string",
        "title": "Decision",
        "description": "Accepting without a choice approves this once.",
        "enum": [word_for(choice) for choice in choices],
        "enumNames": [_title(question, choice) for choice in choices],
    }
    reason: dict[str, object] = {
        "type": "string",
        "title": "Reason",
        "description": "If you deny: why. Codex is told.",
        "maxLength": MAX_REASON_CHARS,
    }
    return {"type": "object", "properties": {"decision": decision, "reason": reason}}


def user_form(question: UserQuestion) -> dict[str, object]:
    """One field for each question; where own words are allowed beside choices, a second one."""
    fields: dict[str, object] = {}
    for asked in question.questions:
        fields[asked.id] = _input_field(asked)
    for asked in question.questions:
        if asked.options and asked.is_other:
            # A question whose own id has this ending keeps its field.
            fields.setdefault(asked.id + OTHER_SUFFIX, {"type": "string", "title": f"{asked.header}: other"})
    return {"type": "object", "properties": fields}


def is_flat_form(schema: Json | None) -> bool:
    """Can MCP clients show this form: an object whose properties are primitives or choices?"""
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


def _title(question: Question, decision: Decision) -> str:
    """The decision in words, for the list that the person chooses from."""
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
