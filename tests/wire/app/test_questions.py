"""The parameters are decoded as the app-server sends them."""

import msgspec
import pytest

from codex_mcp.wire.app.questions import CommandApproval, OfferedDecision, OfferedRule, OldQuestion, ServerElicitation
from tests.support.core.questions import COMMAND, RULE, TOOL


def test_a_command_approval_keeps_words_and_objects_of_its_available_decisions() -> None:
    asked = msgspec.json.decode(msgspec.json.encode(COMMAND), type=CommandApproval)
    assert asked.available_decisions == [
        "accept",
        OfferedDecision(accept_with_execpolicy_amendment=OfferedRule(RULE)),
        "cancel",
    ]


def test_fields_that_we_do_not_know_are_ignored() -> None:
    asked = msgspec.json.decode(msgspec.json.encode({**COMMAND, "newInCodex": {"a": 1}}), type=CommandApproval)
    assert asked.item_id == "call-1"


def test_the_meta_field_is_spelled_with_an_underscore() -> None:
    asked = msgspec.json.decode(msgspec.json.encode(TOOL), type=ServerElicitation)
    assert asked.meta is not None
    assert asked.meta["persist"] == ["session", "always"]


def test_a_request_without_its_thread_is_an_error() -> None:
    with pytest.raises(msgspec.ValidationError, match="threadId"):
        msgspec.json.decode(b'{"turnId":"t","itemId":"i"}', type=CommandApproval)


def test_a_question_comes_with_the_event_that_announced_it_or_without() -> None:
    elicitation = {"codex_elicitation": "exec-approval", "threadId": "t", "codex_command": ["ls"]}
    announced = {"type": "exec_approval_request", "call_id": "c", "reason": "why", "available_decisions": ["abort", {}]}
    for event in (announced, None):
        encoded = msgspec.json.encode({"elicitation": elicitation, "announced": event})
        asked = msgspec.json.decode(encoded, type=OldQuestion)
        assert (asked.elicitation.thread_id, asked.elicitation.codex_command) == ("t", ["ls"])
        assert (asked.announced is None) is (event is None)
