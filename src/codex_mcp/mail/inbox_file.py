"""What is done to the file of one inbox: a record appended, records marked, read messages removed. All of it blocks."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from typing import cast

from codex_mcp.mail.address import Address
from codex_mcp.mail.files.layout import Layout
from codex_mcp.mail.files.records import Records, appended, array_of, records_in, replaced, salvaged, without
from codex_mcp.mail.files.rewriting import Rewrite, rewrite
from codex_mcp.mail.message import Inbox, Message, acknowledged, inbox_of, is_message, marked_read
from codex_mcp.mail.retention import Retention, outdated

Edit = Callable[[Records], bytes | None]
"""From the records of a file to its new contents; None changes nothing."""


def read_inbox(data: bytes) -> Inbox:
    """The messages of a file, even of a broken one."""
    return _inbox(_records(data)[0])


def append(layout: Layout, to: Address, record: str, message_id: str) -> bool:
    """Append a record unless its message is there already."""

    def edit(records: Records) -> bytes | None:
        # Most of the time the id is new, and then a thousand messages need not be read.
        may_be_there = message_id in records.text
        if may_be_there and any(message.id == message_id for message in _inbox(records).messages):
            return None
        return appended(records, record)

    return _edited(layout, to, edit, message_id)


def restore(layout: Layout, to: Address, displaced: bytes, draft_id: str) -> bool:
    """Append the unread messages of another version of the file that are missing in it."""
    other, _ = _records(displaced)
    unread = [message for message in _inbox(other).messages if not message.is_read]

    def edit(records: Records) -> bytes | None:
        known = {message.id for message in _inbox(records).messages}
        data: bytes | None = None
        for message in unread:
            if message.id not in known:
                data = appended(records, other.source(message.places[0]))
                records, _ = _records(data)
        return data

    return _edited(layout, to, edit, draft_id)


def mark(layout: Layout, address: Address, ids: Collection[str], draft_id: str) -> list[str]:
    """Mark messages as read; return the ids of those that were unread."""
    marked: list[str] = []

    def edit(records: Records) -> bytes | None:
        found = [message for message in _inbox(records).messages if message.id in ids and _has_unread(records, message)]
        marked[:] = [message.id for message in found]
        sources = {place: marked_read(records.source(place)) for message in found for place in message.places}
        return replaced(records, sources) if sources else None

    _edited(layout, address, edit, draft_id)
    return marked


def acknowledge(layout: Layout, address: Address, message: Message, at: float, draft_id: str) -> bool:
    """Mark one message as read and acknowledged."""

    def edit(records: Records) -> bytes | None:
        found = next((one for one in _inbox(records).messages if one.id == message.id), None)
        if found is None or found.is_acknowledged:
            return None
        values = {place: cast("Mapping[str, object]", records.records[place].value) for place in found.places}
        sources = {place: acknowledged(records.source(place), value, at) for place, value in values.items()}
        return replaced(records, sources)

    return _edited(layout, address, edit, draft_id)


def prune(layout: Layout, address: Address, retention: Retention, now: float, draft_id: str) -> int:
    """Remove old messages that were read and need no answer; return how many. What cannot be read stays."""
    removed = 0

    def edit(records: Records) -> bytes | None:
        nonlocal removed
        gone = outdated(_inbox(records).messages, retention, now)
        removed = len(gone)
        places = frozenset(place for message in gone for place in message.places)
        return without(records, places) if places else None

    _edited(layout, address, edit, draft_id)
    return removed


def _edited(layout: Layout, address: Address, edit: Edit, draft_id: str) -> bool:
    def change(data: bytes) -> Rewrite | None:
        records, is_broken = _records(data)
        changed = edit(records)
        return None if changed is None else Rewrite(changed, is_repair=is_broken)

    return rewrite(layout.inbox(address), layout.draft(address, draft_id), change)


def _records(data: bytes) -> tuple[Records, bool]:
    """The records of a file, and whether it is broken; then they are those that could be saved."""
    found = records_in(data)
    if found is not None:
        return found, False
    saved = records_in(array_of(salvaged(data, is_message)))
    assert saved is not None, "each of them was parsed"
    return saved, True


def _inbox(records: Records) -> Inbox:
    return inbox_of([record.value for record in records.records])


def _has_unread(records: Records, message: Message) -> bool:
    values = (records.records[place].value for place in message.places)
    return any(isinstance(value, dict) and value.get("read") is not True for value in values)
