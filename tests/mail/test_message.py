import json
from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from codex_mcp.base.timestamps import parse_timestamp
from codex_mcp.mail.address import Address
from codex_mcp.mail.inbox_file import read_inbox
from codex_mcp.mail.message import (
    IdKind,
    Inbox,
    NewMessage,
    acknowledged,
    inbox_of,
    instant,
    is_message,
    marked_read,
    message_of,
    record_of,
    summary_of,
)
from tests.support.json_values import JSON_VALUES
from tests.support.mail.fixtures import inbox_bytes

AT = parse_timestamp("2026-11-15T10:00:00Z")


def inbox(name: str) -> Inbox:
    return read_inbox(inbox_bytes(name))


def messages_in(records: Sequence[object]) -> Inbox:
    return inbox_of([message_of(record, place) for place, record in enumerate(records)])


def test_claude_codes_early_shape() -> None:
    (message,) = inbox("claude-native-old").messages
    assert (message.sender, message.text, message.summary) == ("team-lead", "native old shape", "old")
    assert (message.id_kind, message.is_read, message.kind) == (IdKind.DERIVED, False, None)
    assert message.sent_at == AT + 1


def test_claude_codes_present_shape() -> None:
    first, idle = inbox("claude-native-2.1.325").messages
    assert (first.id, first.id_kind) == ("0b34593f-0a03-4f9b-b54c-2d1e3b0d7030", IdKind.CLAUDE)
    assert (first.kind, idle.kind, idle.sender) == (None, "idle_notification", "alice")
    captured = inbox("captured-team-lead").messages + inbox("captured-codex-bob").messages
    assert [message.kind for message in captured] == [None, "idle_notification", None]
    assert {message.id_kind for message in captured} == {IdKind.CLAUDE}


def test_atms_early_shape() -> None:
    plain, pending, done, answer = inbox("atm-legacy").messages
    assert (plain.id_kind, plain.sender_team, plain.sent_at) == (IdKind.LEGACY, "beta", AT + 4.123456)
    assert [message.is_read for message in (plain, pending, done, answer)] == [False, True, True, False]
    assert [message.is_ack_pending for message in (plain, pending, done, answer)] == [False, True, False, False]
    assert [message.is_acknowledged for message in (plain, pending, done, answer)] == [False, False, True, False]
    assert answer.acknowledges == done.id


def test_atms_later_shape() -> None:
    (message,) = inbox("atm-forward").messages
    assert (message.id, message.id_kind) == ("01JCQ9V3E8ZK4N7W2R5T6Y8M0A", IdKind.ATM)
    assert (message.sender, message.sender_team) == ("arch", "beta")


def test_all_shapes_in_one_file() -> None:
    found = inbox("mixed")
    assert (len(found.messages), found.unreadable) == (10, 0)
    assert found.messages[8].text == "text under the old key"


def test_bad_records_do_not_hide_the_others() -> None:
    found = inbox("one-bad-record")
    assert [message.summary for message in found.messages] == ["old", "new"]
    assert found.unreadable == 4


def test_twins_without_an_id_are_two_messages() -> None:
    one, other = inbox("idless-twins").messages
    assert one.id != other.id
    assert other.id == f"{one.id}~2"


def test_of_two_records_with_one_id_copies_are_joined_and_different_texts_are_not() -> None:
    messages = inbox("dup-ids").messages
    assert [message.text for message in messages] == ["legacy atm shape", "same id again", "forward atm shape"]
    assert len({message.id for message in messages}) == 3
    assert [message.places for message in messages] == [(0,), (1,), (2, 3)]
    assert messages[1].id_kind is IdKind.DERIVED


def test_a_copy_that_was_read_counts() -> None:
    record = {"from": "a", "text": "b", "msg_id": "1", "read": False}
    (message,) = messages_in([record, {**record, "read": True}]).messages
    assert message.is_read


@pytest.mark.parametrize("name", ["empty-array", "zero-bytes"])
def test_an_empty_inbox(name: str) -> None:
    assert inbox(name) == Inbox(())


@pytest.mark.parametrize("name", ["truncated", "wrong-root"])
def test_a_broken_inbox_shows_what_can_be_read(name: str) -> None:
    assert [message.summary for message in inbox(name).messages] == ["old"]


def test_long_and_strange_texts_are_whole() -> None:
    assert len(inbox("huge-10k-chars").messages[0].text) == 10_000
    assert inbox("unicode-and-nul").messages[0].text == "emoji 🦀 combining e\u0301 rtl \u202e nul \0 end"
    assert "</mail>" in inbox("injection-attempt").messages[0].text


def test_timestamps_are_instants() -> None:
    same = [
        "2026-11-15T10:00:00.000Z",
        "2026-11-15T11:00:00+01:00",
        "2026-11-15T10:00:00.000000000+00:00",
        AT,
        AT * 1000,
    ]
    assert {instant(timestamp) for timestamp in same} == {AT}
    assert [instant(odd) for odd in ("yesterday", None, True, -1, 1e300, ["x"], "0001-01-01T00:00:00+23:59")][:6] == [
        None
    ] * 6


@given(st.lists(JSON_VALUES | st.dictionaries(st.sampled_from(["from", "text", "metadata", "read"]), JSON_VALUES)))
def test_any_records_can_be_read(records: list[object]) -> None:
    found = messages_in(records)
    assert found.unreadable == sum(not is_message(record) for record in records)
    assert len({message.id for message in found.messages}) == len(found.messages)
    for message in found.messages:
        message.text.encode()


FIELDS = st.dictionaries(
    st.sampled_from(["messageId", "sourceTeam", "fromIdentity", "hops", "urgent", "pendingAckAt", "type", "timestamp"]),
    JSON_VALUES,
)


@given(FIELDS, FIELDS)
def test_fields_of_any_type_do_no_harm(atm: dict[str, object], fields: dict[str, object]) -> None:
    (message,) = messages_in([{**fields, "text": "x", "metadata": {"atm": atm}}]).messages
    assert 0 <= message.hops <= 1_000_000


def test_protocol_messages_are_recognised() -> None:
    texts = ['{"type": "shutdown_request", "request_id": "1"}', '{"type": 5}', "{broken", "[]", '{"type": "message"}']
    kinds = [messages_in([{"text": text}]).messages[0].kind for text in texts]
    assert kinds == ["shutdown_request", None, None, None, "message"]
    assert messages_in([{"text": "idle", "type": "idle_notification"}]).messages[0].kind == "idle_notification"
    assert messages_in([{"text": "{" * 100_000}]).messages[0].kind is None


NEW = NewMessage(
    id="01ARYZ6S410000000000000000",
    claude_id="0b34593f-0a03-4f9b-b54c-2d1e3b0d7030",
    sender=Address("alice", "alpha"),
    text="hello\nthere",
    sent_at=AT,
)


def test_what_is_written_is_claude_codes_shape_and_metadata() -> None:
    written = record_of(NEW)
    assert json.loads(written) == {
        "from": "alice",
        "text": "hello\nthere",
        "summary": "hello there",
        "timestamp": "2026-11-15T10:00:00.000Z",
        "msgV": 1,
        "msg_id": "0b34593f-0a03-4f9b-b54c-2d1e3b0d7030",
        "type": "message",
        "read": False,
        "metadata": {"atm": {"messageId": "01ARYZ6S410000000000000000", "sourceTeam": "alpha"}},
    }
    assert written.startswith('{\n    "from": "alice",\n')
    assert written.endswith("\n  }")


@given(
    text=st.text(),
    hops=st.integers(0, 1000),
    is_urgent=st.booleans(),
    acknowledges=st.none() | st.text(min_size=1),
)
def test_what_is_written_can_be_read(*, text: str, hops: int, is_urgent: bool, acknowledges: str | None) -> None:
    new = replace(NEW, text=text, hops=hops, is_urgent=is_urgent, acknowledges=acknowledges, summary="s")
    (message,) = messages_in([json.loads(record_of(new))]).messages
    assert (message.id, message.id_kind, message.sent_at) == (new.id, IdKind.ATM, AT)
    assert (message.text, message.hops, message.is_urgent, message.acknowledges) == (
        text,
        hops,
        is_urgent,
        acknowledges,
    )
    assert (message.sender, message.sender_team, message.summary) == ("alice", "alpha", "s")


def test_a_summary_is_short_and_ends_between_words() -> None:
    assert summary_of("word " * 1000).endswith("word …")
    assert len(summary_of("word " * 1000)) <= 100


def test_a_message_is_acknowledged_in_the_shape_that_it_has() -> None:
    legacy = '{"message_id": "1", "text": "x", "pendingAckAt": "y", "read": false}'
    assert acknowledged(legacy, json.loads(legacy), AT) == (
        '{"message_id": "1", "text": "x", "read": true, "acknowledgedAt": "2026-11-15T10:00:00.000Z"}'
    )
    forward = '{"text": "x", "metadata": {"atm": {"messageId": "1", "pendingAckAt": "y"}, "other": 1}}'
    assert json.loads(acknowledged(forward, json.loads(forward), AT)) == {
        "text": "x",
        "read": True,
        "metadata": {"atm": {"messageId": "1", "acknowledgedAt": "2026-11-15T10:00:00.000Z"}, "other": 1},
    }
    native = '{"text": "x"}'
    assert json.loads(acknowledged(native, {}, AT))["metadata"]["atm"]["acknowledgedAt"] == "2026-11-15T10:00:00.000Z"
    assert marked_read('{"text": "x", "read": false}') == '{"text": "x", "read": true}'
