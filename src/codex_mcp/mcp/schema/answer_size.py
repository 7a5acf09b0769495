"""Pure. Long answers: where a client reads them, and how much of them one result holds.

| answer                      | in the place that the client reads | in the other place |
|-----------------------------|------------------------------------|--------------------|
| up to SHORT characters      | whole                              | whole              |
| longer                      | whole                              | its beginning      |
| longer than the limit       | cut after a line, with a note      | its beginning      |
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from typing import Final

from msgspec import Struct

SHORT: Final = 8_000
"""Characters of an answer that is sent in both places, as `codex mcp-server` did with all of them."""

BEGINNING: Final = 500
"""Characters of a longer answer in the place that the client does not read."""

LEAST: Final = 2_000
"""Characters for each answer if a result has many of them."""


class Reads(StrEnum):
    """The part of a result that a client shows to its model."""

    TEXT = "content"
    DATA = "structuredContent"


class AnswerSize(Struct, frozen=True):
    reads: Reads = Reads.TEXT
    chars: int | None = None
    """The limit of one result; None: answers are never cut."""

    def shared_by(self, answers: int) -> AnswerSize:
        """The size of each of several answers in one result."""
        if self.chars is None or answers < 2:
            return self
        return AnswerSize(self.reads, max(LEAST, self.chars // answers))


WHOLE: Final = AnswerSize()

UNKNOWN_CLIENT: Final = AnswerSize(Reads.TEXT, 200_000)
"""A program that reads answers itself may want all of a long one; beyond this, it is too much for any model."""

CLIENT_SIZES: Final[Mapping[str, AnswerSize]] = {
    # It moves a result of more than 25,000 tokens into a file.
    "claude-code": AnswerSize(Reads.DATA, 60_000),
    # Codex as a client cuts a result of more than 10,000 tokens in its middle.
    "codex-mcp-client": AnswerSize(Reads.DATA, 36_000),
}


def answer_size(client_name: str, limit: int | None) -> AnswerSize:
    """`limit` is the setting: None leaves it to the client, 0 means that answers are never cut."""
    size = CLIENT_SIZES.get(client_name.lower(), UNKNOWN_CLIENT)
    return size if limit is None else AnswerSize(size.reads, limit or None)


class Part(Struct, frozen=True):
    """A part of an answer, in characters."""

    text: str
    begin: int
    end: int
    total: int

    @property
    def is_whole(self) -> bool:
        return self.begin == 0 and self.end == self.total

    @property
    def is_last(self) -> bool:
        return self.end == self.total


def part_of(answer: str, begin: int, chars: int | None) -> Part:
    """At most this many characters, from this one on. A part ends after a line, unless that line is too long."""
    begin = max(0, min(begin, len(answer)))
    if chars is None or len(answer) - begin <= chars:
        return Part(answer[begin:], begin, len(answer), len(answer))
    line = answer.rfind("\n", begin + chars // 2, begin + chars)
    end = line + 1 if line >= 0 else begin + chars
    return Part(answer[begin:end], begin, end, len(answer))


def beginning(answer: str) -> str:
    return part_of(answer, 0, BEGINNING).text.rstrip()
