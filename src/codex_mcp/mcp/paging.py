"""Pure. Lists in pages: an opaque cursor holds the kind of the list and the key of the last entry that was sent.

Entries are in the order of their keys. A page begins after the cursor's key, so entries that come or go between two
requests neither repeat nor hide others.
"""

from __future__ import annotations

import base64
import binascii
from bisect import bisect_right
from collections.abc import Mapping, Sequence
from typing import Final

import msgspec
from msgspec import Struct

PAGE_SIZE: Final = 50
"""Entries of a page. A page of prompts has some 10 KB then, and most lists have only one."""


class BadCursor(ValueError):
    """The text is not a cursor of this list."""


class Page(Struct, frozen=True):
    entries: tuple[object, ...]
    next_cursor: str | None

    def answer(self, key: str) -> dict[str, object]:
        """The result of a list method; the last page has no cursor."""
        listed: dict[str, object] = {key: self.entries}
        return listed if self.next_cursor is None else {**listed, "nextCursor": self.next_cursor}


def page(kind: str, entries: Mapping[str, object], cursor: str | None, size: int = PAGE_SIZE) -> Page:
    """The page of these entries, by their keys, that begins after the cursor. Raises BadCursor."""
    keys = sorted(entries)
    begin = 0 if cursor is None else bisect_right(keys, _key(kind, cursor))
    chosen = keys[begin : begin + size]
    has_more = begin + size < len(keys)
    return Page(tuple(entries[key] for key in chosen), cursor_after(kind, chosen) if has_more else None)


def cursor_after(kind: str, keys: Sequence[str]) -> str:
    return base64.urlsafe_b64encode(msgspec.json.encode((kind, keys[-1]))).decode().rstrip("=")


def _key(kind: str, cursor: str) -> str:
    try:
        data = base64.b64decode(cursor.encode("ascii") + b"=" * (-len(cursor) % 4), altchars=b"-_", validate=True)
        named, key = msgspec.json.decode(data, type=tuple[str, str])
    except (UnicodeEncodeError, binascii.Error, msgspec.MsgspecError, UnicodeDecodeError):
        named, key = "", ""
    if named != kind:
        raise BadCursor("the cursor was not made by this list; begin without a cursor")
    return key
