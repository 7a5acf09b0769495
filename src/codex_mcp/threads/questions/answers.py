"""Pure. What a listed question may be answered with: a decision in one word, or the content of its form.

    the question                                  takes
    --------------------------------------------  ------------------------------------------
    about a command, a patch, permissions, a tool  a decision; a reason, if it is denied
    of the model to its user                       content, one field for each of its questions
    a form of an inner server                      content, with the fields that the form requires
    a page of an inner server                      approved
    any of the last three                          denied or abort as well

Unlike a client's answer (`approvals`), one that does not fit is refused, and the question stays open.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from msgspec import Struct

from codex_mcp.base.errors import Refused
from codex_mcp.threads.questions.approvals import OTHER_SUFFIX, decide
from codex_mcp.threads.questions.decisions import Decision, Denied, Filled
from codex_mcp.threads.questions.questions import Question, ServerQuestion, UserQuestion

DECISIONS: Final = (
    "approved",
    "approved_for_session",
    "approved_execpolicy_amendment",
    "approved_mcp_policy_amendment",
    "network_policy_allow",
    "network_policy_deny",
    "denied",
    "abort",
)
NEGATIVE: Final = ("denied", "abort")

NOT_DECIDED: Final = "missing field `decision`: one of those that are listed with the question"


class Given(Struct, frozen=True):
    decision: str | None = None
    reason: str | None = None
    """Of a denial."""
    content: Mapping[str, object] | None = None


def decision_in(question: Question, given: Given) -> Decision:
    """The decision that is meant. Raises Refused."""
    if given.decision is not None and given.decision not in DECISIONS:
        known = ", ".join(f"`{word}`" for word in DECISIONS)
        raise Refused(f"unknown variant `{given.decision[:100]}`, expected one of {known}")
    if given.decision in NEGATIVE or not takes_content(question):
        return _decided(question, given)
    return _filled(question, given.content)


def takes_content(question: Question) -> bool:
    """Whether it asks for data, and not for a decision."""
    return isinstance(question, UserQuestion) or (
        isinstance(question, ServerQuestion) and not question.is_tool_approval
    )


def words_of(question: Question) -> tuple[str, ...]:
    """The decisions that a question for data takes beside its content."""
    try:
        _filled(question, None)
    except Refused:
        return ("denied",)
    return ("approved", "denied")


def _decided(question: Question, given: Given) -> Decision:
    if given.content is not None:
        takes = "a denial" if takes_content(question) else "this question"
        raise Refused(f"`content` is for questions that ask for data; {takes} takes a `decision` only")
    if given.decision is None:
        raise Refused(NOT_DECIDED)
    if given.decision == "denied" and given.reason is not None:
        return decide(question, {"decision": {"denied": {"rejection": given.reason}}})
    return decide(question, {"decision": given.decision})


def _filled(question: Question, content: Mapping[str, object] | None) -> Decision:
    fields = _fields_of(question)
    named = ", ".join(f"`{name}`" for name in fields)
    if content is None and isinstance(question, UserQuestion):
        raise Refused(f"missing field `content`: an object with answers as {named}")
    unknown = [name for name in content or {} if fields and name not in fields]
    if unknown:
        raise Refused(f"`content` has no field `{unknown[0][:100]}`; the question has {named}")
    decision = decide(question, {"action": "accept", "content": dict(content or {})})
    if isinstance(decision, Denied):
        raise Refused(f"{decision.reason}; give them in `content`, an object with {named}")
    if isinstance(question, UserQuestion) and decision == Filled():
        raise Refused(f"`content` answers nothing; give a text, or a list of texts, as {named}")
    return decision


def _fields_of(question: Question) -> tuple[str, ...]:
    if isinstance(question, UserQuestion):
        others = [asked.id + OTHER_SUFFIX for asked in question.questions if asked.options and asked.is_other]
        return tuple(dict.fromkeys([*(asked.id for asked in question.questions), *others]))
    properties = (question.schema or {}).get("properties") if isinstance(question, ServerQuestion) else None
    return tuple(properties) if isinstance(properties, dict) else ()
