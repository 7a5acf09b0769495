"""Pure. What a person answers in a Codex TUI, as a decision of the board; what the TUI must know to ask.

    the TUI's answer                                means
    ----------------------------------------------  -------------------------------------------------
    accept, acceptForSession, a rule, a host        the same decision, if the question offers it; else once
    decline, cancel                                 denied; denied, and the turn ends
    all permissions that were asked for             approved, for the turn or the session
    fewer of them, others, or on conditions         denied: the board knows only all or none
    answers, a form                                 the same content
    an error, or anything else                      nothing: the question stays open for others

A decision never allows more than the question offered.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

import msgspec
from msgspec import Raw

from codex_mcp.base.printable import one_line
from codex_mcp.threads.questions.approvals import decide, offered
from codex_mcp.threads.questions.decisions import (
    DECLINED,
    Aborted,
    Approved,
    Decision,
    Denied,
    Filled,
    NetworkRuled,
    RuleApproved,
    Scope,
    is_approval,
)
from codex_mcp.threads.questions.questions import (
    CommandQuestion,
    PatchQuestion,
    PermissionsQuestion,
    Question,
    ServerQuestion,
    UserQuestion,
)
from codex_mcp.wire.app.questions import NetworkAmendment

WORDS: Final[Mapping[str, Decision]] = {
    "accept": Approved(),
    "acceptForSession": Approved(Scope.SESSION),
    "decline": Denied(),
    "cancel": Aborted(),
}

NOT_ALL: Final = "the user granted less than was asked for, which cannot be done here"

LASTING: Final = {"session": "approved_for_session", "always": "approved_mcp_policy_amendment"}


def decision_of(question: Question, result: object) -> Decision | None:
    """None: it cannot be read, and decides nothing."""
    if not isinstance(result, dict):
        return None
    match question:
        case CommandQuestion() | PatchQuestion():
            said = _said(result.get("decision"))
        case PermissionsQuestion():
            said = _permitted(question, result)
        case UserQuestion():
            said = _answered(question, result.get("answers"))
        case ServerQuestion():
            said = _of_server(question, result)
    return None if said is None else _within(question, said)


def _said(word: object) -> Decision | None:
    match word:
        case str():
            return WORDS.get(word)
        case {"acceptWithExecpolicyAmendment": {"execpolicy_amendment": [*rule]}}:
            return RuleApproved(tuple(map(str, rule)))
        case {"applyNetworkPolicyAmendment": {"network_policy_amendment": {"host": str(host), "action": str(action)}}}:
            return NetworkRuled(NetworkAmendment(host, action))
    return None


def _permitted(question: PermissionsQuestion, result: Mapping[str, object]) -> Decision | None:
    granted = result.get("permissions")
    if not isinstance(granted, dict):
        return None
    if not _plain(granted):
        return Denied()
    if _plain(granted) != _plain(question.permissions) or result.get("strictAutoReview"):
        return Denied(NOT_ALL)
    return Approved(Scope.SESSION) if result.get("scope") == "session" else Approved()


def _plain(value: object) -> object:
    """Without what is not set."""
    if isinstance(value, Mapping):
        kept = {name: _plain(each) for name, each in value.items()}
        return {name: each for name, each in kept.items() if each not in (None, {}, [])}
    return value


def _answered(question: UserQuestion, answers: object) -> Decision | None:
    if not isinstance(answers, dict):
        return None
    content = {name: each.get("answers") for name, each in answers.items() if isinstance(each, dict)}
    filled = decide(question, {"action": "accept", "content": content})
    return Denied(DECLINED) if filled == Filled() else filled


def _of_server(question: ServerQuestion, result: Mapping[str, object]) -> Decision | None:
    action, meta = result.get("action"), result.get("_meta")
    if action not in ("accept", "decline", "cancel"):
        return None
    if action == "cancel":
        return Aborted()
    lasting = meta.get("persist") if isinstance(meta, dict) else None
    if action == "accept" and question.is_tool_approval:
        word = LASTING.get(lasting, "approved") if isinstance(lasting, str) else "approved"
        return decide(question, {"decision": word})
    return decide(question, {"action": action, "content": result.get("content")})


def _within(question: Question, decision: Decision) -> Decision:
    """An approval never exceeds what was offered."""
    offers = offered(question)
    if not offers or decision in offers or isinstance(decision, Denied):
        return decision
    return Approved() if is_approval(decision) else Denied()


def patch_item(question: PatchQuestion) -> dict[str, object]:
    """The item of the patch, for a TUI that was not there when it began."""
    changes = [
        {"path": path, "kind": {"type": kind, **_moved(change)}, "diff": text}
        for path, (kind, text, change) in ((path, _change(each)) for path, each in question.changes.items())
    ]
    return {"type": "fileChange", "id": question.item_id, "changes": changes, "status": "inProgress"}


def _change(change: object) -> tuple[str, str, Mapping[str, object]]:
    """The kind of a change in the shape of 0.153.4, its text, and its fields."""
    fields = change if isinstance(change, Mapping) else {}
    kind = str(fields.get("type") or "update")
    text = fields.get("unified_diff") if kind == "update" else fields.get("content")
    return kind, text if isinstance(text, str) else "", fields


def _moved(change: Mapping[str, object]) -> dict[str, object]:
    return {"move_path": change.get("move_path")} if change.get("type") == "update" else {}


SECRET_TABLES: Final = ("mcp_servers", "model_providers", "shell_environment_policy", "otel", "notify", "profiles")
"""Tables of config.toml with headers, tokens and variables, which a TUI does not need."""


def without_secrets(configuration: Raw) -> dict[str, object]:
    """The answer to `config/read`, without what may be secret and without the layers that it comes from."""
    found = msgspec.json.decode(configuration, type=dict[str, object])
    config = found.get("config")
    kept = (
        {name: value for name, value in config.items() if name not in SECRET_TABLES} if isinstance(config, dict) else {}
    )
    return {**found, "config": kept, "layers": None}


def of_thread(params: Raw, thread_id: str, asker: str) -> object:
    """What a sub-agent asks, as a question of this thread: a TUI does not know the sub-agent's."""
    asked: object = msgspec.json.decode(params)
    if not asker or not isinstance(asked, dict):
        return params
    reason = asked.get("reason")
    said = f"{one_line(asker)} asks. {reason if isinstance(reason, str) else ''}".strip()
    return {**asked, "threadId": thread_id, "reason": said}
