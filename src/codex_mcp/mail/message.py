"""Pure. One message: read from the four shapes that Claude Code and atm write, and written in Claude Code's own.

    Claude Code, early      from, text, timestamp, read, summary?, color?
    Claude Code 2.1.325     the same and msgV, msg_id, type
    atm up to 0.46          the same as the first and message_id, source_team, pendingAckAt, acknowledgedAt, …
    atm 1.0 and 1.1         the same as the first and metadata.atm {messageId, sourceTeam, …}

A record with a text is a message, whatever else is missing or has another type. Other records are left alone.
"""

from __future__ import annotations

import hashlib
import json
import textwrap
from collections.abc import Iterable, Mapping, Sequence
from enum import StrEnum
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from codex_mcp.base.timestamps import LATEST, format_timestamp, parse_timestamp
from codex_mcp.mail.address import Address
from codex_mcp.mail.files.json_text import clean
from codex_mcp.mail.files.members import KeyPath, with_member, without_member

UNKNOWN: Final = "unknown"
"""The sender of a message that names none."""

SUMMARY: Final = 100
"""Characters of a summary that is made from the text."""

MILLISECONDS_FROM: Final = 1e11
"""A number this large is no time in seconds before the year 5138."""

MOST_HOPS: Final = 1_000_000


class IdKind(StrEnum):
    """Where the id of a message comes from."""

    ATM = "atm"
    LEGACY = "legacy"
    CLAUDE = "claude"
    DERIVED = "derived"
    """From the contents: its record has no id, or one that another message has as well."""


class Message(Struct, frozen=True, kw_only=True):
    id: str
    id_kind: IdKind
    sender: str
    sender_team: str | None = None
    text: str
    sent_at: float | None = None
    """Seconds since the epoch; None if the record has no timestamp that can be read."""
    is_read: bool = False
    summary: str | None = None
    kind: str | None = None
    """The `type` of a protocol message, such as idle_notification or shutdown_request."""
    is_ack_pending: bool = False
    is_acknowledged: bool = False
    acknowledges: str | None = None
    hops: int = 0
    is_urgent: bool = False
    places: tuple[int, ...] = ()
    """The records that hold this message: more than one if a writer has repeated it."""


class Inbox(Struct, frozen=True):
    """The messages of a file, in its order, and how many of its records are none."""

    messages: tuple[Message, ...]
    unreadable: int = 0


def urgent_first(messages: Iterable[Message]) -> list[Message]:
    """Urgent messages before the others; each kind in its order."""
    return sorted(messages, key=lambda message: not message.is_urgent)


class Outgoing(Struct, frozen=True, kw_only=True):
    """What is sent."""

    text: str
    summary: str | None = None
    acknowledges: str | None = None
    hops: int = 0
    is_urgent: bool = False


class NewMessage(Outgoing, frozen=True, kw_only=True):
    """A message to send. The ids are made of what the caller has drawn: a ULID and a random UUID."""

    id: str
    claude_id: str
    sender: Address
    sent_at: float


def is_message(record: object) -> bool:
    return isinstance(record, dict) and _text_of(record) is not None


def message_of(record: object, place: int) -> Message | None:
    """The message in one record; None if it is none."""
    if not isinstance(record, dict) or (text := _text_of(record)) is None:
        return None
    return _message(record, text, place)


def inbox_of(records: Sequence[Message | None]) -> Inbox:
    """The messages in these records. Copies of one message count once; different messages with one id count as two."""
    messages = [message for message in records if message is not None]
    found = {message.id: message for message in messages}
    if len(found) < len(messages):
        found = _told_apart(messages)
    return Inbox(tuple(found.values()), len(records) - len(messages))


def _told_apart(messages: Iterable[Message]) -> dict[str, Message]:
    found: dict[str, Message] = {}
    for each in messages:
        message, number = each, 1
        first_id, is_derived = message.id, message.id_kind is IdKind.DERIVED
        while earlier := found.get(message.id):
            if not is_derived and (earlier.sender, earlier.text) == (message.sender, message.text):
                message = _joined(earlier, message)
                break
            number += 1
            message = replace(message, id=f"{first_id}~{number}", id_kind=IdKind.DERIVED)
        found[message.id] = message
    return found


def _message(record: Mapping[str, object], text: str, place: int) -> Message:
    atm = _atm_of(record)
    sender = _string(atm.get("fromIdentity")) or _string(record.get("from")) or UNKNOWN
    timestamp = record.get("timestamp")
    identity = _id_of(record, atm)
    id_kind, message_id = identity or (IdKind.DERIVED, _derived_id(sender, timestamp, text))
    return Message(
        id=message_id,
        id_kind=id_kind,
        sender=sender,
        sender_team=_string(atm.get("sourceTeam")) or _string(record.get("source_team")),
        text=text,
        sent_at=instant(timestamp),
        is_read=record.get("read") is True,
        summary=_string(record.get("summary")),
        kind=_kind_of(record, text),
        is_ack_pending=bool(atm.get("pendingAckAt") or record.get("pendingAckAt")),
        is_acknowledged=bool(atm.get("acknowledgedAt") or record.get("acknowledgedAt")),
        acknowledges=_string(atm.get("acknowledgesMessageId")) or _string(record.get("acknowledgesMessageId")),
        hops=_count(atm.get("hops")),
        is_urgent=atm.get("urgent") is True,
        places=(place,),
    )


def _joined(earlier: Message, copy: Message) -> Message:
    return replace(earlier, is_read=earlier.is_read or copy.is_read, places=(*earlier.places, *copy.places))


def instant(timestamp: object) -> float | None:
    """The moment that a timestamp of any of the writers means: ISO 8601, or seconds or milliseconds as a number."""
    if isinstance(timestamp, str):
        try:
            return parse_timestamp(timestamp)
        except (ValueError, OverflowError):
            return None
    if isinstance(timestamp, int | float) and not isinstance(timestamp, bool):
        seconds = timestamp / 1000 if timestamp >= MILLISECONDS_FROM else float(timestamp)
        return seconds if 0 <= seconds <= LATEST else None
    return None


def summary_of(text: str) -> str:
    """The beginning of a text on one line, cut between words."""
    return textwrap.shorten(text[: 10 * SUMMARY], SUMMARY, placeholder=" …")


def record_of(message: NewMessage) -> str:
    """The record of a new message, laid out as an element of the array."""
    atm: dict[str, object] = {"messageId": message.id, "sourceTeam": message.sender.team}
    if message.acknowledges is not None:
        atm["acknowledgesMessageId"] = message.acknowledges
    if message.hops:
        atm["hops"] = message.hops
    if message.is_urgent:
        atm["urgent"] = True
    record = {
        "from": message.sender.agent,
        "text": message.text,
        "summary": message.summary or summary_of(message.text),
        "timestamp": format_timestamp(message.sent_at),
        "msgV": 1,
        "msg_id": message.claude_id,
        "type": "message",
        "read": False,
        "metadata": {"atm": atm},
    }
    return json.dumps(record, ensure_ascii=False, indent=2).replace("\n", "\n  ")


def marked_read(source: str) -> str:
    """The text of a record, marked as read."""
    return with_member(source, ("read",), "true")


def acknowledged(source: str, record: Mapping[str, object], at: float) -> str:
    """The text of a record, marked as read and acknowledged in the shape that it has."""
    is_legacy = "message_id" in record and not _atm_of(record)
    here: KeyPath = () if is_legacy else ("metadata", "atm")
    source = without_member(marked_read(source), ("pendingAckAt",))
    source = without_member(source, ("metadata", "atm", "pendingAckAt"))
    return with_member(source, (*here, "acknowledgedAt"), f'"{format_timestamp(at)}"')


def _text_of(record: Mapping[str, object]) -> str | None:
    for key in ("text", "content"):
        if isinstance(text := record.get(key), str):
            return clean(text)
    return None


def _atm_of(record: Mapping[str, object]) -> Mapping[str, object]:
    metadata = record.get("metadata")
    atm = metadata.get("atm") if isinstance(metadata, dict) else None
    return atm if isinstance(atm, dict) else {}


def _id_of(record: Mapping[str, object], atm: Mapping[str, object]) -> tuple[IdKind, str] | None:
    for kind, value in (
        (IdKind.ATM, atm.get("messageId")),
        (IdKind.LEGACY, record.get("message_id")),
        (IdKind.CLAUDE, record.get("msg_id")),
    ):
        if text := _string(value):
            return kind, text
    return None


def _derived_id(sender: str, timestamp: object, text: str) -> str:
    contents = json.dumps([sender, str(timestamp), text])
    return f"sha-{hashlib.sha256(contents.encode()).hexdigest()[:24]}"


def _kind_of(record: Mapping[str, object], text: str) -> str | None:
    if text.lstrip().startswith("{"):
        try:
            payload = json.loads(text)
        except (ValueError, RecursionError):
            payload = None
        if isinstance(payload, dict) and (kind := _string(payload.get("type"))):
            return kind
    kind = _string(record.get("type"))
    return None if kind == "message" else kind


def _string(value: object) -> str | None:
    return clean(value) if isinstance(value, str) and value else None


def _count(value: object) -> int:
    is_number = isinstance(value, int) and not isinstance(value, bool)
    return min(max(int(str(value)), 0), MOST_HOPS) if is_number else 0
