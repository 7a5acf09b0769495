"""Pure. The requests `execCommandApproval` and `applyPatchApproval`, and what their answers mean.

0.42.0 sent snake_case names; its documentation and later releases have camelCase. Both are sent.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from msgspec import Struct

from codex_mcp.threads.questions.approvals import decide
from codex_mcp.threads.questions.decisions import Decision
from codex_mcp.threads.questions.questions import CommandQuestion, PatchQuestion, Question
from codex_mcp.wire.conversations import EXEC_APPROVAL, PATCH_APPROVAL

WORDS: Final = {"allow": "approved", "deny": "denied"}
"""The words of the documentation, which 0.42.0 itself did not understand."""


class ApprovalRequest(Struct, frozen=True):
    method: str
    params: dict[str, object]


def approval_request(question: Question, conversation_id: str) -> ApprovalRequest | None:
    """None if 0.42.0 has no request for such a question."""
    both = {"conversation_id": conversation_id, "call_id": question.item_id}
    if question.reason:
        both["reason"] = question.reason
    match question:
        case CommandQuestion():
            command = {"command": list(question.command), "cwd": question.cwd}
            return ApprovalRequest(EXEC_APPROVAL, _both_spellings({**both, **command}))
        case PatchQuestion():
            changes = {path: old_change(change) for path, change in question.changes.items()}
            root = {"grant_root": question.grant_root} if question.grant_root else {}
            return ApprovalRequest(PATCH_APPROVAL, _both_spellings({**both, "file_changes": changes, **root}))
        case _:
            return None


def old_change(change: object) -> object:
    """`{type: add, content}` as `{add: {content}}`."""
    if not isinstance(change, Mapping) or not isinstance(change.get("type"), str):
        return change
    return {change["type"]: {name: value for name, value in change.items() if name != "type"}}


def decision_of(question: Question, answer: object) -> Decision:
    """What the client's result means. Never raises; a result that cannot be read is a denial."""
    if isinstance(answer, dict) and isinstance(word := answer.get("decision"), str):
        answer = {**answer, "decision": WORDS.get(word, word)}
    return decide(question, answer)


def _both_spellings(params: Mapping[str, object]) -> dict[str, object]:
    return {**params, **{_camel(name): value for name, value in params.items()}}


def _camel(name: str) -> str:
    first, *rest = name.split("_")
    return first + "".join(word.capitalize() for word in rest)
