from hypothesis import given
from hypothesis import strategies as st

from codex_mcp.cli.mail.texts import (
    INBOX_TITLES,
    OUTCOME_TITLES,
    InboxView,
    block,
    closing,
    entry,
    inbox_entry,
    inbox_row,
    outcome_entry,
    outcome_row,
    selected,
)
from codex_mcp.mail.address import Address
from codex_mcp.mail.message import IdKind, Inbox, Message
from codex_mcp.mail.store_types import Delivered

ME = Address("bob", "alpha")


def message(text: str = "hello", **more: object) -> Message:
    return Message(id="m1", id_kind=IdKind.ATM, sender="alice", text=text, **more)  # type: ignore[arg-type]


def test_a_message_is_a_line_about_it_and_its_text_below() -> None:
    shown = message("one\ntwo", sender_team="beta", sent_at=1.8e9, is_urgent=True, is_ack_pending=True, is_read=True)
    assert block(shown) == ("alice@beta  2027-01-15T08:00:00.000Z  m1  urgent  to be acknowledged  read\n  one\n  two")
    assert block(message()) == "alice  no time  m1\n  hello"


@given(st.text(), st.text(min_size=1))
def test_no_text_looks_like_the_line_of_another_message(text: str, sender: str) -> None:
    shown = Message(id=sender, id_kind=IdKind.CLAUDE, sender=sender, sender_team=sender, text=text)
    first, *rest = block(shown).split("\n")
    assert all(line.startswith("  ") for line in rest)
    assert all(char.isprintable() or char in "\t " or not char.isascii() for line in (first, *rest) for char in line)


def test_messages_are_selected_by_sender_time_and_state() -> None:
    messages = [
        message(sent_at=100.0, is_read=True),
        message(sent_at=200.0),
        message(),
        Message(id="m2", id_kind=IdKind.ATM, sender="carol", text="x", sent_at=300.0),
    ]
    everything = selected(messages, is_all=True, sender=None, since=None, limit=None)
    assert everything == messages
    assert selected(messages, is_all=False, sender=None, since=None, limit=2) == messages[1:3]
    assert selected(messages, is_all=True, sender="carol", since=None, limit=None) == messages[3:]
    assert selected(messages, is_all=True, sender=None, since=200.0, limit=None) == [messages[1], messages[3]]


def test_an_inbox_is_counted() -> None:
    inbox = Inbox((message(sent_at=1.8e9), message(is_read=True, is_ack_pending=True)), unreadable=3)
    view = InboxView("bob", "codex", inbox)
    assert inbox_row(view, 1.8e9 + 120) == ("bob", "1", "2", "1", "codex", "2 min")
    assert len(inbox_row(view, 1.8e9)) == len(INBOX_TITLES)
    assert (inbox_entry(view)["unreadable_records"], inbox_entry(view)["latest"]) == (3, "2027-01-15T08:00:00.000Z")
    assert inbox_row(InboxView("bob", "codex", Inbox(())), 1.8e9)[-1] == ""


def test_the_last_line_says_what_happened() -> None:
    assert closing([], 0, ME, is_peek=False) == "0 messages for bob@alpha"
    assert closing([message()], 0, ME, is_peek=False) == "1 message for bob@alpha, now marked as read"
    assert closing([message()] * 2, 4, ME, is_peek=True) == (
        "2 messages for bob@alpha, left unread; 4 records of the file are no messages"
    )


def test_outcomes() -> None:
    sent, failed = Delivered(ME, "m1"), Delivered(ME, error="cannot")
    assert outcome_row(sent) == ("bob@alpha", "sent", "m1")
    assert outcome_row(failed) == ("bob@alpha", "failed", "cannot")
    assert len(outcome_row(sent)) == len(OUTCOME_TITLES)
    assert outcome_entry(failed) == {"to": "bob@alpha", "message_id": None, "error": "cannot"}
    assert outcome_row(Delivered(ME))[2] == ""


def test_json_has_every_field() -> None:
    assert entry(message(sent_at=1.8e9, kind="shutdown_request")) == {
        "message_id": "m1",
        "from": "alice",
        "from_team": None,
        "timestamp": "2027-01-15T08:00:00.000Z",
        "read": False,
        "summary": None,
        "text": "hello",
        "type": "shutdown_request",
        "urgent": False,
        "hops": 0,
        "to_acknowledge": False,
        "acknowledged": False,
        "acknowledges": None,
    }
