"""Pure. A file that holds a JSON array: its elements are replaced, removed and appended; all other bytes stay.

A file whose root is not an array is broken. `salvaged` finds the objects in it that are whole.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Final

from msgspec import Struct

from codex_mcp.mail.files.json_text import after_blank, decoded, encoded, value_at

FIRST: Final = "\n  "
LAST: Final = "\n"

DEEPEST: Final = 8
"""Objects that are nested deeper are parts of records. It also bounds how often a part of a broken file is parsed."""

_TOKEN: Final = re.compile(r'"(?:[^"\\\x00-\x1f]|\\.)*"|[{}\[\]]')
"""A string ends with its line at the latest, so that a cut string hides nothing on the lines below it."""


_PARTNER: Final = {"}": "{", "]": "["}


class Record(Struct, frozen=True):
    """One element of the array, and its place in the text."""

    value: object
    start: int
    end: int


class Records(Struct, frozen=True):
    text: str
    records: tuple[Record, ...]

    def source(self, index: int) -> str:
        """The text of one record."""
        record = self.records[index]
        return self.text[record.start : record.end]


EMPTY: Final = Records("[]", ())


def records_in(data: bytes, before: Records = EMPTY) -> Records | None:
    """The records of a file; None if it is broken. An empty file has none.

    Those at its beginning that were there `before` are not parsed again: they are the same objects.
    """
    text = decoded(data)
    if text == before.text:
        return before
    begin = after_blank(text, 0)
    if begin == len(text):
        return EMPTY
    if text[begin] != "[":
        return None
    found = list(before.records[: _still_there(before, text)])
    try:
        end = _parse_rest(text, found[-1].end if found else begin, found)
    except (ValueError, IndexError):
        return None
    return Records(text, tuple(found)) if after_blank(text, end) == len(text) else None


def _still_there(before: Records, text: str) -> int:
    """How many of its first records a text still has, at the same places.

    The character after a record counts as well: a number could go on.
    """
    fewest, most, same = 0, len(before.records), 0
    while fewest < most:
        middle = (fewest + most + 1) // 2
        end = before.records[middle - 1].end + 1
        if before.text[same:end] == text[same:end]:
            fewest, same = middle, end
        else:
            most = middle - 1
    return fewest


def _parse_rest(text: str, at: int, found: list[Record]) -> int:
    """Add the records after those that were found, the last of which ends here; return where the array ends."""
    at = after_blank(text, at if found else at + 1)
    if text[at] == "]":
        return at + 1
    if found:
        at = _after_comma(text, at)
    while True:
        start = after_blank(text, at)
        value, end = value_at(text, start)
        found.append(Record(value, start, end))
        at = after_blank(text, end)
        if text[at] == "]":
            return at + 1
        at = _after_comma(text, at)


def _after_comma(text: str, at: int) -> int:
    if text[at] != ",":
        raise ValueError("no comma between two elements")
    return at + 1


def appended(records: Records, source: str) -> bytes:
    """The file with one more record at its end."""
    if not records.records:
        begin, end = records.text.index("["), records.text.rindex("]")
        return encoded(f"{records.text[: begin + 1]}{FIRST}{source}{LAST}{records.text[end:]}")
    end = records.records[-1].end
    return encoded(f"{records.text[:end]},{_blank(records)}{source}{records.text[end:]}")


def replaced(records: Records, sources: Mapping[int, str]) -> bytes:
    """The file with some of its records replaced."""
    text = records.text
    for index in sorted(sources, reverse=True):
        record = records.records[index]
        text = text[: record.start] + sources[index] + text[record.end :]
    return encoded(text)


def without(records: Records, indexes: frozenset[int]) -> bytes:
    """The file without some of its records, each with what stands between it and the one before."""
    text, places = records.text, records.records
    kept = [index for index in range(len(places)) if index not in indexes]
    if not kept:
        return encoded(text[: text.index("[") + 1] + text[text.rindex("]") :])
    first, *others = kept
    parts = [text[places[index - 1].end : places[index].end] for index in others]
    return encoded(text[: places[0].start] + records.source(first) + "".join(parts) + text[places[-1].end :])


def _blank(records: Records) -> str:
    """What stands before a record: new ones are laid out like the first."""
    return records.text[records.text.index("[") + 1 : records.records[0].start]


def array_of(sources: Sequence[str]) -> bytes:
    return encoded(f"[{FIRST}{f',{FIRST}'.join(sources)}{LAST}]" if sources else "[]")


def salvaged(data: bytes, is_wanted: Callable[[object], bool]) -> list[str]:
    """The texts of the outermost whole objects of a broken file that are wanted."""
    text = decoded(data)
    found: list[str] = []
    covered = 0
    for start, end in sorted(_objects(text), key=lambda span: (span[0], -span[1])):
        if start < covered:
            continue
        try:
            value, stop = value_at(text, start)
        except ValueError:
            continue
        if stop == end and is_wanted(value):
            found.append(text[start:end])
            covered = end
    return found


def _objects(text: str) -> Iterator[tuple[int, int]]:
    """Where objects seem to begin and end. Brackets that match nothing are ignored."""
    opened: list[tuple[str, int]] = []
    waiting = {"{": 0, "[": 0}
    for token in _TOKEN.finditer(text):
        bracket = token.group()
        if bracket in waiting:
            opened.append((bracket, token.start()))
            waiting[bracket] += 1
        elif (wanted := _PARTNER.get(bracket)) and waiting[wanted]:
            while True:  # those in between were cut
                kind, start = opened.pop()
                waiting[kind] -= 1
                if kind == wanted:
                    break
            if bracket == "}" and len(opened) < DEEPEST:
                yield start, token.end()
