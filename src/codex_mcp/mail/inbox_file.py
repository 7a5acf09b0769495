"""What is done to the files of inboxes: a record appended, records marked, read messages removed. All of it blocks.

Of a file that was read before, only what follows the first change is parsed. Its text is compared, not its time, so
whatever another program has written is seen.
"""

from __future__ import annotations

import threading
from bisect import bisect_left
from collections.abc import Callable, Collection, Mapping
from typing import Final, cast

from codex_mcp.mail.address import Address
from codex_mcp.mail.files.layout import Layout
from codex_mcp.mail.files.records import EMPTY, Records, appended, array_of, records_in, replaced, salvaged, without
from codex_mcp.mail.files.rewriting import Rewrite, read_whole, rewrite
from codex_mcp.mail.message import Inbox, Message, acknowledged, inbox_of, is_message, marked_read, message_of
from codex_mcp.mail.retention import Retention, outdated

SMALL: Final = 32 * 1024
"""Characters of a file that is parsed anew each time, which takes a millisecond."""

MOST_KEPT: Final = 16 * 2**20
"""Characters of all files that are kept: as many as the largest file that we read has."""


class Version:
    """One version of a file: its records, and the messages in them."""

    def __init__(self, data: bytes, before: Version | None = None) -> None:
        """One of a broken file has the records that could be saved."""
        found = records_in(data, EMPTY if before is None else before.records)
        self.is_broken = found is None
        self.records: Records = found or records_in(array_of(salvaged(data, is_message))) or EMPTY
        self._before = None if before is None or before.read is None else (before.records.records, before.read)
        self.read: list[Message | None] | None = None
        """What is in each record, once somebody has asked."""
        self._inbox: Inbox | None = None

    @property
    def inbox(self) -> Inbox:
        if self._inbox is None:
            records = self.records.records
            before, known = self._before or ((), [])
            same = range(min(len(records), len(before)))
            kept = bisect_left(same, True, key=lambda place: records[place] is not before[place])  # noqa: FBT003
            rest = [message_of(record.value, place) for place, record in enumerate(records[kept:], kept)]
            self.read, self._before = known[:kept] + rest, None
            self._inbox = inbox_of(self.read)
        return self._inbox


def read_inbox(data: bytes) -> Inbox:
    """The messages of a file, even of a broken one."""
    return Version(data).inbox


Edit = Callable[[Version], bytes | None]
"""From a version of a file to its new contents; None changes nothing."""


class Inboxes:
    def __init__(self, layout: Layout) -> None:
        self._layout = layout
        self._versions: dict[Address, Version] = {}
        """The last versions of large files, the one that was read last at the end."""
        self._lock = threading.Lock()

    def read(self, address: Address) -> Inbox:
        """The messages of a file, even of a broken one. One that is being written is waited for."""
        return self.inbox_in(address, read_whole(self._layout.inbox(address)))

    def inbox_in(self, address: Address, data: bytes) -> Inbox:
        """The messages in these bytes of a file."""
        return self._version(address, data).inbox

    def append(self, to: Address, record: str, message_id: str) -> bool:
        """Append a record unless its message is there already."""

        def edit(version: Version) -> bytes | None:
            # Most of the time the id is new, and then a thousand messages need not be read.
            may_be_there = message_id in version.records.text
            if may_be_there and any(message.id == message_id for message in version.inbox.messages):
                return None
            return appended(version.records, record)

        return self._edited(to, edit, message_id)

    def restore(self, to: Address, displaced: bytes, draft_id: str) -> bool:
        """Append the unread messages of another version of the file that are missing in it."""
        other = Version(displaced)
        unread = [message for message in other.inbox.messages if not message.is_read]

        def edit(version: Version) -> bytes | None:
            known = {message.id for message in version.inbox.messages}
            data: bytes | None = None
            for message in unread:
                if message.id not in known:
                    data = appended(version.records, other.records.source(message.places[0]))
                    version = Version(data, version)
            return data

        return self._edited(to, edit, draft_id)

    def mark(self, address: Address, ids: Collection[str], draft_id: str) -> list[str]:
        """Mark messages as read; return the ids of those that were unread."""
        marked: list[str] = []

        def edit(version: Version) -> bytes | None:
            messages = version.inbox.messages
            found = [message for message in messages if message.id in ids and _has_unread(version, message)]
            marked[:] = [message.id for message in found]
            records = version.records
            sources = {place: marked_read(records.source(place)) for message in found for place in message.places}
            return replaced(records, sources) if sources else None

        self._edited(address, edit, draft_id)
        return marked

    def acknowledge(self, address: Address, message: Message, at: float, draft_id: str) -> bool:
        """Mark one message as read and acknowledged."""

        def edit(version: Version) -> bytes | None:
            found = next((one for one in version.inbox.messages if one.id == message.id), None)
            if found is None or found.is_acknowledged:
                return None
            records = version.records
            values = {place: cast("Mapping[str, object]", records.records[place].value) for place in found.places}
            sources = {place: acknowledged(records.source(place), value, at) for place, value in values.items()}
            return replaced(records, sources)

        return self._edited(address, edit, draft_id)

    def prune(self, address: Address, retention: Retention, now: float, draft_id: str) -> int:
        """Remove old messages that were read and need no answer; return how many. What cannot be read stays."""
        removed = 0

        def edit(version: Version) -> bytes | None:
            nonlocal removed
            gone = outdated(version.inbox.messages, retention, now)
            removed = len(gone)
            places = frozenset(place for message in gone for place in message.places)
            return without(version.records, places) if places else None

        self._edited(address, edit, draft_id)
        return removed

    def _edited(self, address: Address, edit: Edit, draft_id: str) -> bool:
        def change(data: bytes) -> Rewrite | None:
            version = self._version(address, data)
            changed = edit(version)
            return None if changed is None else Rewrite(changed, is_repair=version.is_broken)

        return rewrite(self._layout.inbox(address), self._layout.draft(address, draft_id), change)

    def _version(self, address: Address, data: bytes) -> Version:
        before = self._versions.get(address)
        version = Version(data, before)
        if before is not None and version.records is before.records:
            version = before
        with self._lock:
            self._versions.pop(address, None)
            if len(version.records.text) > SMALL and not version.is_broken:
                self._versions[address] = version
            while sum(len(each.records.text) for each in self._versions.values()) > MOST_KEPT:
                del self._versions[next(iter(self._versions))]
        return version


def _has_unread(version: Version, message: Message) -> bool:
    values = (version.records.records[place].value for place in message.places)
    return any(isinstance(value, dict) and value.get("read") is not True for value in values)
