"""Notifications as the app-server writes them."""

import msgspec
import pytest

from codex_mcp.codex.reading import read_notification
from codex_mcp.wire.app.items import ContextCompaction, OtherItem
from codex_mcp.wire.app.notifications import (
    DESCRIBED,
    AppNotification,
    ItemStarted,
    MessageDelta,
    OtherItemStarted,
    OtherNotification,
    SummaryDelta,
)

IDS = {"threadId": "thread-1", "turnId": "turn-1"}


def read(method: str, params: object) -> AppNotification | None:
    return read_notification(method, msgspec.Raw(msgspec.json.encode(params)))


def test_a_delta_is_read_with_what_is_passed_on() -> None:
    params = {**IDS, "itemId": "msg-1", "delta": "hi", "summaryIndex": 2}
    assert read(MessageDelta.method, params) == MessageDelta("turn-1", "msg-1", "hi", thread_id="thread-1")
    assert read(SummaryDelta.method, params) == SummaryDelta("turn-1", "msg-1", "hi", 2, thread_id="thread-1")


def test_an_item_is_read_with_its_notification() -> None:
    params = {"turnId": "turn-1", "item": {"type": "contextCompaction", "id": "c-1"}, "startedAtMs": 7}
    assert read("item/started", params) == ItemStarted("turn-1", ContextCompaction("c-1"), 7)


@pytest.mark.parametrize("item", [{"type": "hologram", "id": "i"}, {"type": "commandExecution", "id": "i", "cwd": 7}])
def test_of_an_item_that_is_not_described_remains_what_a_turn_needs(item: dict[str, object]) -> None:
    expected = OtherItemStarted("turn-1", OtherItem(str(item["type"]), "i"), thread_id="thread-1")
    assert read("item/started", {**IDS, "item": item}) == expected


def test_a_notification_that_is_not_described_keeps_its_fields() -> None:
    other = read("thread/name/updated", {**IDS, "threadName": {"of": "newer"}})
    assert other == OtherNotification("thread/name/updated", {**IDS, "threadName": {"of": "newer"}})
    assert other.thread_id == "thread-1"
    assert OtherNotification("x", {"threadId": 7}).thread_id is None


@pytest.mark.parametrize("method", [*DESCRIBED, "thread/name/updated"])
def test_what_cannot_be_read_is_none(method: str) -> None:
    assert read(method, 5) is None
