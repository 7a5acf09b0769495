"""Pure. Mail as people and programs see it: blocks of text, rows of tables, JSON."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final

from msgspec import Struct

from codex_mcp.base.printable import age, one_line, visible
from codex_mcp.base.timestamps import format_timestamp
from codex_mcp.mail.address import Address
from codex_mcp.mail.message import Inbox, Message, urgent_first
from codex_mcp.mail.store_types import Delivered

INDENT: Final = "  "

INBOX_TITLES: Final = ("NAME", "UNREAD", "TOTAL", "TO ACK", "READ BY", "LATEST")
INBOX_OPTIONAL: Final = ("LATEST", "READ BY", "TO ACK", "TOTAL")
"""Columns that a narrow screen leaves out, the least important first."""

OUTCOME_TITLES: Final = ("TO", "OUTCOME", "ID OR ERROR")


class InboxView(Struct, frozen=True):
    """One inbox of a team, and which program reads it."""

    name: str
    reader: str
    inbox: Inbox

    @property
    def unread(self) -> int:
        return sum(not message.is_read for message in self.inbox.messages)

    @property
    def to_acknowledge(self) -> int:
        return sum(message.is_ack_pending for message in self.inbox.messages)

    @property
    def latest(self) -> float | None:
        return max((message.sent_at for message in self.inbox.messages if message.sent_at is not None), default=None)


def block(message: Message) -> str:
    """One message: a line about it, and its text below, indented so that no text looks like such a line."""
    notes = [
        sender_of(message),
        _time(message.sent_at) or "no time",
        one_line(message.id),
        *(["urgent"] if message.is_urgent else []),
        *(["to be acknowledged"] if message.is_ack_pending else []),
        *(["read"] if message.is_read else []),
    ]
    lines = visible(message.text).split("\n")
    return "\n".join([INDENT.join(notes), *(INDENT + line for line in lines)])


def sender_of(message: Message) -> str:
    name = one_line(message.sender)
    return f"{name}@{one_line(message.sender_team)}" if message.sender_team else name


def entry(message: Message) -> dict[str, object]:
    """One message for JSON."""
    return {
        "message_id": message.id,
        "from": message.sender,
        "from_team": message.sender_team,
        "timestamp": _time(message.sent_at) or None,
        "read": message.is_read,
        "summary": message.summary,
        "text": message.text,
        "type": message.kind,
        "urgent": message.is_urgent,
        "hops": message.hops,
        "to_acknowledge": message.is_ack_pending,
        "acknowledged": message.is_acknowledged,
        "acknowledges": message.acknowledges,
    }


def inbox_row(view: InboxView, now: float) -> tuple[str, ...]:
    """The cells of an inbox, one for each of INBOX_TITLES."""
    counts = (view.unread, len(view.inbox.messages), view.to_acknowledge)
    return (view.name, *map(str, counts), view.reader, "" if view.latest is None else age(now - view.latest))


def inbox_entry(view: InboxView) -> dict[str, object]:
    """One inbox for JSON."""
    return {
        "name": view.name,
        "unread": view.unread,
        "total": len(view.inbox.messages),
        "to_acknowledge": view.to_acknowledge,
        "read_by": view.reader,
        "latest": _time(view.latest) or None,
        "unreadable_records": view.inbox.unreadable,
    }


def outcome_row(outcome: Delivered) -> tuple[str, ...]:
    return (str(outcome.to), "failed" if outcome.error else "sent", outcome.error or outcome.id or "")


def outcome_entry(outcome: Delivered) -> dict[str, object]:
    return {"to": str(outcome.to), "message_id": outcome.id, "error": outcome.error}


def selected(
    messages: Iterable[Message], *, is_all: bool, sender: str | None, since: float | None, limit: int | None
) -> Sequence[Message]:
    """The messages that were asked for, urgent ones first; of too many, the oldest come first."""
    found = urgent_first(
        message
        for message in messages
        if (is_all or not message.is_read)
        and sender in (None, message.sender)
        and (since is None or (message.sent_at is not None and message.sent_at >= since))
    )
    return found if limit is None else found[:limit]


def closing(found: Sequence[Message], unreadable: int, me: Address, *, is_peek: bool) -> str:
    """The last line at a terminal."""
    count = f"{len(found)} message{'' if len(found) == 1 else 's'} for {me}"
    marked = "" if not found else ", left unread" if is_peek else ", now marked as read"
    odd = f"; {unreadable} records of the file are no messages" if unreadable else ""
    return count + marked + odd


def _time(seconds: float | None) -> str:
    return "" if seconds is None else format_timestamp(seconds)
