"""Pure. Decisions about questions, their spellings, and the reasons of denials that no person has worded.

The model and people read reasons, so a reason says who refused and why, without the contents of the answer.
"""

from collections.abc import Mapping
from enum import StrEnum
from typing import assert_never

from msgspec import Struct, field

from codex_mcp.wire.app.questions import NetworkAmendment

MAX_REASON_CHARS = 2_000
"""A reason goes into the model's context; a page is enough to explain a refusal."""

UNASKED = "no one could be asked"
UNANSWERED = "no one answered within"
UNREACHED = "the MCP client could not ask the user"
"""These begin the reasons of denials that no person has decided."""

DECLINED = "the user declined"
DISMISSED = "the user closed the question without an answer"
REVIEW_TIMED_OUT = "the client says that its review timed out"
NO_CAPABILITY = f"{UNASKED}: the MCP client does not support elicitation"
NO_PERSON = f"{UNASKED}: the MCP client cancels every question at once, as headless clients do"
SERVER_STOPPING = f"{UNASKED}: the server is shutting down"
SESSION_GONE = f"{UNASKED}: the MCP client is gone"


class Scope(StrEnum):
    ONCE = "once"
    SESSION = "session"
    ALWAYS = "always"


class Approved(Struct, frozen=True):
    """Approved once or for longer."""

    scope: Scope = Scope.ONCE


class RuleApproved(Struct, frozen=True):
    """Approved, and so are later commands with this beginning."""

    rule: tuple[str, ...]


class NetworkRuled(Struct, frozen=True):
    """A permanent rule for a host."""

    rule: NetworkAmendment


class Filled(Struct, frozen=True):
    """Accepted, with the fields of an inner server's form, or with answers by question id."""

    content: Mapping[str, object] = field(default_factory=dict)


class Denied(Struct, frozen=True):
    """The turn continues, and the model may learn the reason."""

    reason: str = DECLINED


class Aborted(Struct, frozen=True):
    """Denied, and the turn ends."""


Decision = Approved | RuleApproved | NetworkRuled | Filled | Denied | Aborted

PLAIN_WORDS: dict[str, Decision] = {
    "approved": Approved(),
    "approved_for_session": Approved(Scope.SESSION),
    "approved_mcp_policy_amendment": Approved(Scope.ALWAYS),
    "denied": Denied(),
    "timed_out": Denied(REVIEW_TIMED_OUT),
    "abort": Aborted(),
}
"""Decisions that a single word says in full, in the spelling of 0.153.4."""


def timed_out(seconds: float) -> Denied:
    return Denied(f"{UNANSWERED} {seconds:g} seconds")


def failed(message: str) -> Denied:
    return Denied(short_reason(f"{UNREACHED}: {message}"))


def is_by_nobody(decision: Decision) -> bool:
    """Whether this is a denial that no person has decided."""
    return isinstance(decision, Denied) and decision.reason.startswith((UNASKED, UNANSWERED, UNREACHED))


def is_approval(decision: Decision) -> bool:
    """Whether Codex may do what it asked for."""
    match decision:
        case Denied() | Aborted():
            return False
        case NetworkRuled(rule):
            return rule.action == "allow"
        case _:
            return True


def word_for(decision: Decision) -> str:
    """The decision as one word: in the form's `decision`, an event or an audit line."""
    match decision:
        case Approved(Scope.SESSION):
            return "approved_for_session"
        case Approved(Scope.ALWAYS):
            return "approved_mcp_policy_amendment"
        case Approved() | Filled():
            return "approved"
        case RuleApproved():
            return "approved_execpolicy_amendment"
        case NetworkRuled(rule):
            return f"network_policy_{rule.action}"
        case Denied():
            return "denied"
        case Aborted():
            return "abort"
        case _:
            assert_never(decision)


def old_decision(decision: Decision) -> str | dict[str, object]:
    """The decision in the spelling of 0.153.4, with its data."""
    match decision:
        case RuleApproved(rule):
            return {"approved_execpolicy_amendment": {"proposed_execpolicy_amendment": list(rule)}}
        case NetworkRuled(rule):
            amendment = {"host": rule.host, "action": rule.action}
            return {"network_policy_amendment": {"network_policy_amendment": amendment}}
        case _:
            return word_for(decision)


def short_reason(text: str) -> str:
    """The reason, cut to MAX_REASON_CHARS."""
    return text if len(text) <= MAX_REASON_CHARS else text[: MAX_REASON_CHARS - 1] + "…"
