"""Questions as the app-server writes them."""

import msgspec
import pytest

from codex_mcp.codex.reading import read_question
from codex_mcp.wire.app.questions import (
    AppQuestion,
    CommandApproval,
    Elicitation,
    OfferedDecision,
    OfferedRule,
    ServerElicitation,
    UnreadableQuestion,
)
from tests.support.core.questions import COMMAND, RULE, TOOL


def read(method: str, params: object) -> AppQuestion:
    return read_question(method, msgspec.Raw(msgspec.json.encode(params)))


def test_a_decision_on_offer_is_a_word_or_carries_data() -> None:
    asked = read(CommandApproval.method, COMMAND)
    assert isinstance(asked, CommandApproval)
    assert msgspec.convert(asked.available_decisions, list[str | OfferedDecision]) == [
        "accept",
        OfferedDecision(accept_with_execpolicy_amendment=OfferedRule(RULE)),
        "cancel",
    ]


def test_fields_that_we_do_not_know_are_ignored() -> None:
    known, asked = read(CommandApproval.method, COMMAND), read(CommandApproval.method, {**COMMAND, "newInCodex": {}})
    assert known == asked


def test_a_question_needs_only_its_ids() -> None:
    ids = {"threadId": "t", "turnId": "turn-1", "itemId": "call-1"}
    assert read(CommandApproval.method, {**ids, "command": None}) == CommandApproval("turn-1", "call-1", thread_id="t")


def test_an_elicitation_keeps_all_its_fields() -> None:
    asked = read(ServerElicitation.method, {**TOOL, "newInCodex": {"a": 1}})
    assert isinstance(asked, ServerElicitation)
    assert (asked.thread_id, asked.turn_id, asked.params["newInCodex"]) == ("thread-1", "turn-1", {"a": 1})
    meta = msgspec.convert(asked.params, Elicitation).meta
    assert meta is not None
    assert meta["persist"] == ["session", "always"]


@pytest.mark.parametrize(
    ("params", "thread_id"),
    [({"turnId": "t", "itemId": "i"}, ""), ({**COMMAND, "turnId": 7}, "thread-1"), (5, ""), ({"threadId": None}, "")],
)
def test_a_question_that_cannot_be_read_says_why_and_whose_it_is(params: object, thread_id: str) -> None:
    asked = read(CommandApproval.method, params)
    assert isinstance(asked, UnreadableQuestion)
    assert (asked.thread_id, "is malformed: " in asked.why) == (thread_id, True)


def test_a_question_of_an_unknown_method_is_unreadable_and_keeps_its_thread() -> None:
    assert read("no/such/question", {"threadId": "t"}) == UnreadableQuestion(
        "no/such/question", "cannot ask the user: no/such/question is not a question that we know", "t"
    )
