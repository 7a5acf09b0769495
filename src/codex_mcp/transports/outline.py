"""Pure. The outline of a JSON object that is too long to keep.

The text is fed in pieces of any size and not kept. The outline is the same object with long strings shortened, long
arrays and objects cut off, and deep values left out. So `method`, `id` and the ids of thread, turn and item can be
read wherever they are in the text. Near the root every short value is kept; the contents of arrays and deep objects
are kept up to `BUDGET` bytes.
"""

from __future__ import annotations

import re
from typing import Final

import msgspec

LONGEST_STRING: Final = 1024
"""Bytes of a string that are kept. Ids, methods and paths are shorter; longer strings are content."""

MOST_ENTRIES: Final = 64
"""Entries kept of one object or array. Codex's messages have up to some twenty fields in one object."""

DEEPEST: Final = 12
"""Levels of nesting that are kept."""

ALWAYS_KEPT: Final = 4
"""Levels of nested objects, from the root, that the budget does not limit: the message, its params, an item."""

BUDGET: Final = 64 * 1024
"""Bytes kept below those levels."""

HARD_LIMIT: Final = 4 * BUDGET
"""Bytes kept in total."""

SHORTENED: Final = "… (shortened)"

_TOKEN: Final = re.compile(rb'[\s,:]*+([{}\[\]"]|[^\s,:{}\[\]"]++)?')
_IN_STRING: Final = re.compile(rb'[^"\\]*+(?:\\.[^"\\]*+)*+', re.DOTALL)
_LONGEST_LITERAL: Final = 64


class _Container:
    __slots__ = ("kept", "key", "near", "value")

    def __init__(self, value: dict[str, object] | list[object], *, kept: bool, near: bool) -> None:
        self.value = value
        self.key: str | None = None
        self.kept = kept
        self.near = near
        """It is within `ALWAYS_KEPT` levels of the root, with only objects between."""


class Outline:
    def __init__(self) -> None:
        self._stack: list[_Container] = []
        self._deeper = 0
        self._in_string = False
        self._escape = b""
        self._string: list[bytes] = []
        self._string_size = 0
        self._literal = b""
        self._kept_bytes = 0
        self._root: object = None
        self._bad = False

    def __repr__(self) -> str:
        return f"<Outline of depth {len(self._stack) + self._deeper}, {self._kept_bytes} bytes kept>"

    def feed(self, data: bytes) -> None:
        at = 0
        while at < len(data) and not self._bad:
            at = self._feed_string(data, at) if self._in_string else self._feed_token(data, at)

    def text(self) -> bytes:
        """The outline as JSON; empty if the text was not one complete object."""
        whole = not self._bad and not self._stack and not self._in_string and isinstance(self._root, dict)
        return msgspec.json.encode(self._root) if whole else b""

    def _feed_string(self, data: bytes, at: int) -> int:
        if self._escape:  # the previous piece ended in a backslash
            self._keep_of_string(self._escape + data[at : at + 1])
            self._escape = b""
            return at + 1
        found = _IN_STRING.match(data, at)
        assert found is not None  # it matches the empty string
        end = found.end()
        if self._string_size <= LONGEST_STRING:
            self._keep_of_string(data[at : min(end, at + LONGEST_STRING + 1)])
        if end == len(data):
            return end
        if data[end : end + 1] == b"\\":  # the last byte of this piece
            self._escape = b"\\"
        else:
            self._in_string = False
            self._string_ended()
        return end + 1

    def _keep_of_string(self, part: bytes) -> None:
        if self._string_size <= LONGEST_STRING:
            self._string.append(part)
        self._string_size += len(part)

    def _feed_token(self, data: bytes, at: int) -> int:
        found = _TOKEN.match(data, at)
        assert found is not None  # it matches the empty string
        token = found[1] or b""
        if self._literal and (found.start(1) != at or token[:1] in b'{}[]"'):
            self._literal_ended()
        match token[:1]:
            case b"":
                pass
            case b'"':
                self._in_string = True
                self._string, self._string_size = [], 0
            case b"{" | b"[":
                self._open({} if token == b"{" else [])
            case b"}" | b"]":
                self._close()
            case _:
                self._literal = (self._literal + token)[:_LONGEST_LITERAL]
                if found.end() < len(data):
                    self._literal_ended()
        return found.end()

    def _literal_ended(self) -> None:
        literal, self._literal = self._literal, b""
        try:
            value: object = msgspec.json.decode(literal)
        except msgspec.DecodeError:
            self._bad = True
            return
        self._add(value, len(literal))

    def _string_ended(self) -> None:
        value = _decoded(b"".join(self._string), is_whole=self._string_size <= LONGEST_STRING)
        parent = self._stack[-1] if self._stack else None
        if parent is not None and not self._deeper and isinstance(parent.value, dict) and parent.key is None:
            parent.key = value
        else:
            self._add(value, len(value))

    def _open(self, value: dict[str, object] | list[object]) -> None:
        if self._deeper or len(self._stack) >= DEEPEST:
            self._deeper += 1
            self._stack[-1].key = None
            return
        if not self._stack:
            self._bad = self._root is not None
            self._root = value
            self._stack.append(_Container(value, kept=True, near=True))
            return
        near = self._stack[-1].near and isinstance(value, dict) and len(self._stack) < ALWAYS_KEPT
        kept = self._add(value, 0)
        self._stack.append(_Container(value, kept=kept, near=near))

    def _close(self) -> None:
        if self._deeper:
            self._deeper -= 1
        elif self._stack:
            self._stack.pop()
        else:
            self._bad = True

    def _add(self, value: object, size: int) -> bool:
        """Add a value to its parent. False: it is left out."""
        if not self._stack:
            self._bad = True  # the text must be a single object
            return False
        if self._deeper:
            return False
        parent = self._stack[-1]
        key, parent.key = parent.key, None
        limit = HARD_LIMIT if parent.near else BUDGET
        if not parent.kept or len(parent.value) >= MOST_ENTRIES or self._kept_bytes > limit:
            return False
        if isinstance(parent.value, list):
            parent.value.append(value)
        elif key is None:
            return False
        else:
            parent.value[key] = value
        self._kept_bytes += size + len(key or "") + 1
        return True


def _decoded(raw: bytes, *, is_whole: bool) -> str:
    if is_whole:
        return _text(raw) or ""
    raw = raw[:LONGEST_STRING]
    # The cut may have split a character or an escape of up to twelve bytes.
    for end in range(len(raw), max(0, len(raw) - 12), -1):
        if (text := _text(raw[:end])) is not None:
            return text + SHORTENED
    return SHORTENED


def _text(raw: bytes) -> str | None:
    try:
        return msgspec.json.decode(b'"%b"' % raw, type=str)
    except (msgspec.DecodeError, UnicodeDecodeError):
        return None
