"""Pure. What a client's answer means, and what Codex is told.

    the client's result                             means
    ----------------------------------------------  ----------------------------------------------------
    action accept, no content.decision              approved, this once
    action accept, content.decision D               D (words below, as the form offers them)
    action decline / cancel                         denied, finally (cancel does not abort)
    decision "approved"                             approved, this once
    decision "approved_for_session"                 approved until the thread ends
    decision "approved_execpolicy_amendment"        approved, and the proposed rule is saved (word or object)
    decision "approved_mcp_policy_amendment"        approved, and remembered for this tool
    decision "network_policy_allow" / "…_deny"      the proposed rule for the host (or the object of 0.153.4)
    decision "denied" or {"denied": {"rejection"}}  denied, and Codex is told why
    decision "timed_out"                            denied
    decision "abort"                                denied, and the turn ends
    action and decision both                        the more restrictive one
    anything else                                   denied, with the reason that it could not be read

An approval that goes beyond what this question offered counts for this once: a rule that was not shown is not
saved, yet the person did say yes to the command. Questions that ask for data take the content instead (`_content`).
"""

from collections.abc import Mapping
from typing import assert_never

from msgspec import Struct

from codex_mcp.base.printable import one_line
from codex_mcp.threads.questions.decisions import (
    DECLINED,
    DISMISSED,
    PLAIN_WORDS,
    Aborted,
    Approved,
    Decision,
    Denied,
    Filled,
    NetworkRuled,
    RuleApproved,
    Scope,
    is_approval,
    is_by_nobody,
    old_decision,
    short_reason,
    word_for,
)
from codex_mcp.threads.questions.questions import (
    CommandQuestion,
    Method,
    PatchQuestion,
    PermissionsQuestion,
    Question,
    QuestionKind,
    ServerQuestion,
    UserQuestion,
)
from codex_mcp.wire.app.questions import NetworkAmendment

OTHER_SUFFIX = ".other"
"""Beside a question with choices, the form has a field of this ending for the user's own words."""

ASKED_TO = {
    QuestionKind.EXEC: "run the command",
    QuestionKind.PATCH: "change the files",
    QuestionKind.PERMISSIONS: "have more permissions",
    QuestionKind.USER_INPUT: "ask the user",
    QuestionKind.MCP: "use the MCP server",
}
"""What was refused, in words for the model."""

COMMAND_CHARS = 200
"""Of a refused command, in words for the caller."""


def offered(question: Question) -> tuple[Decision, ...]:
    """The decisions to show, the simplest approval first. Empty for questions that ask for data."""
    match question:
        case CommandQuestion():
            more: list[Decision] = [Approved(Scope.SESSION)] if question.offers_session else []
            more += [RuleApproved(question.proposed_rule)] if question.proposed_rule else []
            more += [NetworkRuled(rule) for rule in question.network_rules]
        case PatchQuestion() | PermissionsQuestion():
            more = [Approved(Scope.SESSION)]
        case ServerQuestion(is_tool_approval=True):
            more = [Approved(Scope.SESSION)] if question.offers_session else []
            more += [Approved(Scope.ALWAYS)] if question.offers_always else []
        case _:
            return ()
    return (Approved(), *more, Denied(), Aborted())


class Choice(Struct, frozen=True):
    """An offered decision, its word, and its spelling in 0.153.4."""

    decision: Decision
    word: str
    old: str | dict[str, object]


def choices(question: Question) -> list[Choice]:
    """The offered decisions in all their spellings."""
    return [Choice(decision, word_for(decision), old_decision(decision)) for decision in offered(question)]


def decide(question: Question, answer: object) -> Decision:
    """The decision that a client's result means. Never raises; a result that cannot be read is a denial."""
    if not isinstance(answer, dict):
        return _unreadable("the answer", answer)
    said: list[Decision] = []
    if (word := answer.get("decision")) is not None:
        said.append(_from_decision(question, word))
    if (action := answer.get("action")) is not None:
        acted = _from_action(question, action, answer.get("content"))
        # A bare accept says no more than yes; the decision beside it may say how far the yes reaches.
        if acted != Approved() or not said:
            said.append(acted)
    if not said:
        return _unreadable("the answer", answer)
    return _within(question, min(said, key=_permissiveness))


def core_answer(question: Question, decision: Decision) -> dict[str, object]:
    """The result for the core's request."""
    allowed = _within(question, decision)
    if question.is_old:
        return {"decision": _old_word(allowed)}
    match question:
        case CommandQuestion():
            return {"decision": _command_word(allowed)}
        case PatchQuestion():
            return {"decision": _patch_word(allowed)}
        case PermissionsQuestion():
            if not isinstance(allowed, Approved):
                return refusal(Method.PERMISSIONS)
            scope = "turn" if allowed.scope is Scope.ONCE else "session"
            return {"permissions": dict(question.permissions), "scope": scope}
        case UserQuestion():
            content = allowed.content if isinstance(allowed, Filled) else {}
            return {"answers": {name: {"answers": said} for name, said in content.items()}}
        case ServerQuestion():
            return _server_result(question, allowed)
        case _:
            assert_never(question)


def refusal(method: str) -> dict[str, object]:
    """The result that refuses any request of this method."""
    match method:
        case Method.PERMISSIONS:
            return {"permissions": {}, "scope": "turn"}
        case Method.USER_INPUT:
            return {"answers": {}}
        case Method.MCP:
            return {"action": "decline"}
        case Method.OLD:
            return {"decision": _old_word(Denied())}
        case _:
            return {"decision": "decline"}


def explanation(question: Question, decision: Decision) -> dict[str, object] | None:
    """The reason of a denial, as an item for `thread/inject_items` before the answer; None if Codex says enough.

    The app-server's own refusal has no text. The model reads an injected item with its next request, after the refused
    call's output; the item does not look like a prompt of the user and causes no event.
    """
    if not isinstance(decision, Denied) or question.is_old:
        return None  # the answer to an old Codex says it itself
    if decision.reason == DECLINED and not isinstance(question, UserQuestion):
        return None  # to a question of the model there is no refusal, only an empty answer
    text = f"The request to {ASKED_TO[question.kind]} was not approved. Reason given: {decision.reason}"
    if is_by_nobody(decision):
        text += ". No user has rejected it, whatever the output of the tool says."
    return {"type": "message", "role": "developer", "content": [{"type": "input_text", "text": text}]}


def told_of_refusal(question: Question, decision: Decision, *, expired: bool = False) -> str | None:
    """The refusal in a sentence for the caller of the turn; None if a person has decided, who knows it."""
    if not isinstance(decision, Denied) or not is_by_nobody(decision):
        return None
    end = "expired" if expired else "was refused"
    return f"The agent asked to {_what(question)}, which {end}: {decision.reason}."


def ending_denial(question: Question, decision: Decision) -> str | None:
    """Why this decision ends the turn, if denials do; None if it is none, or of something else."""
    if not isinstance(decision, Denied) or not isinstance(question, CommandQuestion | PatchQuestion):
        return None
    return f"the request to {_what(question)} was denied: {decision.reason}."


def _what(question: Question) -> str:
    what = ASKED_TO[question.kind]
    if isinstance(question, CommandQuestion) and question.command_line:
        line = one_line(question.command_line)
        what += f" `{line if len(line) <= COMMAND_CHARS else line[: COMMAND_CHARS - 1] + '…'}`"
    return what


def must_interrupt(question: Question, decision: Decision) -> bool:
    """Whether the caller must end the turn itself: only commands and patches have an answer that ends it."""
    return isinstance(decision, Aborted) and not isinstance(question, CommandQuestion | PatchQuestion)


def _from_action(question: Question, action: object, content: object) -> Decision:
    fields = content if isinstance(content, dict) else {}
    match action:
        case "accept" if content is None or isinstance(content, dict):
            return _content(question, fields)
        case "accept":
            return _unreadable("the content of the answer", content)
        case "decline":
            return Denied(_reason(fields, DECLINED))
        case "cancel":
            return Denied(DISMISSED)
        case _:
            return _unreadable("the action of the answer", action)


def _content(question: Question, fields: Mapping[str, object]) -> Decision:
    """An accepted form. Ours has `decision` and `reason`; other forms have their own fields."""
    if isinstance(question, UserQuestion):
        return Filled(_answers(question, fields))
    if isinstance(question, ServerQuestion) and not question.is_tool_approval:
        return _filled(question, fields)
    word = fields.get("decision")
    if word is None:
        return Approved()
    decision = _from_decision(question, word)
    return Denied(_reason(fields, DECLINED)) if word == "denied" else decision


def _answers(question: UserQuestion, fields: Mapping[str, object]) -> dict[str, object]:
    answers: dict[str, object] = {}
    for asked in question.questions:
        said = [fields.get(asked.id), fields.get(asked.id + OTHER_SUFFIX)]
        flat = [text for value in said for text in (value if isinstance(value, list) else [value])]
        if words := [text for text in flat if isinstance(text, str) and text]:
            answers[asked.id] = words
    return answers


def _filled(question: ServerQuestion, fields: Mapping[str, object]) -> Decision:
    required = (question.schema or {}).get("required")
    missing = [name for name in required if name not in fields] if isinstance(required, list) else []
    if missing:
        return Denied(f"the answer lacks required fields: {', '.join(map(str, missing))}")
    return Filled(dict(fields))


def _from_decision(question: Question, said: object) -> Decision:
    """Read one of Codex's own decisions: a word, or an object with one key."""
    match said:
        case str() if said in PLAIN_WORDS:
            return PLAIN_WORDS[said]
        case "approved_execpolicy_amendment":
            return RuleApproved(question.proposed_rule if isinstance(question, CommandQuestion) else ())
        case "network_policy_allow" | "network_policy_deny":
            return _network_word(question, str(said).removeprefix("network_policy_"))
        case {"denied": details, **more} if not more:
            return Denied(_reason(details if isinstance(details, dict) else {}, DECLINED, key="rejection"))
        case {"approved_execpolicy_amendment": {"proposed_execpolicy_amendment": [*rule]}, **more} if not more:
            return RuleApproved(tuple(map(str, rule)))
        case {"network_policy_amendment": {"network_policy_amendment": {"host": host, "action": action}}, **more}:
            if not more and action in ("allow", "deny"):
                return NetworkRuled(NetworkAmendment(str(host), str(action)))
    return _unreadable("the decision", said)


def _network_word(question: Question, action: str) -> Decision:
    rules = question.network_rules if isinstance(question, CommandQuestion) else ()
    for rule in rules:
        if rule.action == action:
            return NetworkRuled(rule)
    return Approved() if action == "allow" else Denied()


def _within(question: Question, decision: Decision) -> Decision:
    """Limit a decision to what the question offers: an approval never exceeds what was shown."""
    match decision:
        case RuleApproved() | NetworkRuled() if decision not in offered(question):
            return Approved() if is_approval(decision) else Denied()
        case Approved(Scope.SESSION) if isinstance(question, ServerQuestion) and not question.offers_session:
            return Approved()
        case Approved(Scope.ALWAYS) if not (isinstance(question, ServerQuestion) and question.offers_always):
            return Approved()
        case Approved() if isinstance(question, ServerQuestion) and not question.is_tool_approval:
            return _filled(question, {})
        case Filled() if not isinstance(question, UserQuestion | ServerQuestion):
            return Denied()
    return decision


def _permissiveness(decision: Decision) -> int:
    """Orders decisions, the strictest first. A filled form is stricter than a plain approval."""
    match decision:
        case Aborted():
            return 0
        case Denied():
            return 1
        case NetworkRuled() if not is_approval(decision):
            return 2
        case Filled():
            return 3
        case Approved(Scope.ONCE):
            return 4
        case _:
            return 5


def _command_word(decision: Decision) -> object:
    match decision:
        case RuleApproved(rule):
            return {"acceptWithExecpolicyAmendment": {"execpolicy_amendment": list(rule)}}
        case NetworkRuled(rule):
            amendment = {"host": rule.host, "action": rule.action}
            return {"applyNetworkPolicyAmendment": {"network_policy_amendment": amendment}}
        case _:
            return _patch_word(decision)


def _old_word(decision: Decision) -> object:
    match decision:
        case Denied(reason):
            # Releases before July 2026 cannot read the reason; what they cannot read they take for a denial.
            return {"denied": {"rejection": "rejected by user" if reason == DECLINED else f"rejected: {reason}"}}
        case _:
            return old_decision(decision)


def _patch_word(decision: Decision) -> str:
    match decision:
        case Approved(Scope.SESSION):
            return "acceptForSession"
        case Approved():
            return "accept"
        case Aborted():
            return "cancel"
        case _:
            return "decline"


def _server_result(question: ServerQuestion, decision: Decision) -> dict[str, object]:
    match decision:
        case Approved(Scope.ONCE):
            return {"action": "accept", "content": {}}
        case Approved(scope):
            return {"action": "accept", "content": {}, "_meta": {"persist": scope.value}}
        case Filled() if question.url:
            return {"action": "accept"}
        case Filled(content):
            return {"action": "accept", "content": dict(content)}
        case Aborted():
            return {"action": "cancel"}
        case _:
            return {"action": "decline"}


def _reason(fields: Mapping[str, object], default: str, *, key: str = "reason") -> str:
    said = fields.get(key)
    return short_reason(said) if isinstance(said, str) and said.strip() else default


def _unreadable(what: str, value: object) -> Denied:
    """Say what could not be read. Values inside an object may be secret and are not quoted."""
    match value:
        case dict():
            seen = f"an object with the keys {sorted(map(str, value))}"
        case list():
            seen = "a list"
        case _:
            seen = repr(value)
    return Denied(short_reason(f"{what} could not be read: {seen}"))
