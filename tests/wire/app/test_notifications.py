"""Notifications and questions as the app-server writes them."""

import msgspec
import pytest

from codex_mcp.wire.app.items import ContextCompaction
from codex_mcp.wire.app.notifications import CommandAsked, Delta, ItemStarted, SummaryDelta, ThreadOpened


def test_a_delta_is_read_with_what_is_sent_on() -> None:
    note = {"threadId": "thread-1", "turnId": "turn-1", "itemId": "msg-1", "delta": "hi", "summaryIndex": 2}
    assert msgspec.convert(note, Delta) == Delta("turn-1", "thread-1", "msg-1", "hi")
    assert msgspec.convert(note, SummaryDelta) == SummaryDelta("turn-1", "thread-1", "msg-1", "hi", 2)


def test_an_item_is_read_with_its_note() -> None:
    note = {"turnId": "turn-1", "item": {"type": "contextCompaction", "id": "c-1"}, "startedAtMs": 7}
    assert msgspec.convert(note, ItemStarted) == ItemStarted("turn-1", ContextCompaction("c-1"), 7)


def test_a_question_needs_only_its_ids() -> None:
    asked = msgspec.convert({"turnId": "turn-1", "itemId": "call-1", "command": None}, CommandAsked)
    assert asked == CommandAsked("turn-1", "call-1")


def test_a_thread_without_a_model_is_not_open() -> None:
    with pytest.raises(msgspec.ValidationError, match="model"):
        msgspec.convert({"thread": {"id": "thread-1"}}, ThreadOpened)
