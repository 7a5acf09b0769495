"""Pure. Answers in results: where a client's model reads them, and how much of them one result holds.

| the model sees         | the text                        | `content` of the structured content | id in the text |
|------------------------|---------------------------------|-------------------------------------|----------------|
| the text               | the answer                      | the answer, or its beginning        | yes            |
| the structured content | the answer, or its beginning    | the answer                          | no             |
| both                   | the answer                      | a word where it is                  | no             |
| unknown                | the answer                      | the answer                          | yes            |

The beginning stands for an answer of more than SHORT characters. An answer longer than the limit is cut after a line,
with a note. Some clients show something else of an error: `for_error`.

Clients count tokens, which they guess from bytes. So the limit counts a character as the bytes that it takes in JSON:
most take one, a line's end and a quotation mark two, those of many languages two to four.
"""

from __future__ import annotations

from bisect import bisect_right
from typing import Final

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from codex_mcp.mcp.known_clients import Shows, known_client, takes_links

SHORT: Final = 8_000
"""Characters of an answer that is sent in both places to clients that are known to read one of them."""

BEGINNING: Final = 500
"""Characters of a longer answer in the place that the client does not read."""

LEAST: Final = 2_000
"""Characters for each answer if a result has many of them."""


class Reader(Struct, frozen=True):
    """Whom a result is for."""

    shows: Shows = Shows.UNKNOWN
    chars: int | None = None
    """The limit of one result; None: answers are never cut."""
    takes_links: bool = False
    """It knows links to resources."""
    may_end_server: bool = False
    """It has started the server, perhaps for this call alone."""
    shows_of_errors: Shows = Shows.UNKNOWN
    is_json: bool = False
    """A program reads the answer, a JSON document, from the first block of the text."""

    @property
    def needs_id(self) -> bool:
        """The text must tell the id of the thread, because the model may see nothing else."""
        return self.shows in (Shows.TEXT, Shows.TEXT_OR_BOTH, Shows.UNKNOWN)

    @property
    def for_error(self) -> Reader:
        """The reader of a result that is an error."""
        return replace(self, shows=self.shows_of_errors)

    def shared_by(self, answers: int) -> Reader:
        """The reader of each of several answers in one result."""
        if self.chars is None or answers < 2:
            return self
        return replace(self, chars=max(LEAST, self.chars // answers))


WHOLE: Final = Reader()


def reader_for(client_name: str, revision: str, limit: int | None, *, is_local: bool = False) -> Reader:
    """`limit` is the setting: None leaves it to the client, 0 means that answers are never cut.

    `is_local`: the client has started the server.
    """
    known = known_client(client_name)
    chars = known.chars if limit is None else limit or None
    has_links = known.takes_links and takes_links(revision)
    return Reader(known.shows, chars, has_links, is_local and not known.keeps_server, known.shows_of_errors)


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
    fitting = len(answer) - begin if chars is None else _fitting(answer[begin : begin + chars], chars)
    if begin + fitting == len(answer):
        return Part(answer[begin:], begin, len(answer), len(answer))
    line = answer.rfind("\n", begin + fitting // 2, begin + fitting)
    end = line + 1 if line >= 0 else begin + fitting
    return Part(answer[begin:end], begin, end, len(answer))


def _fitting(text: str, most: int) -> int:
    """How many of these characters take at most so many bytes in JSON; at least one, so that every part has some."""
    if _size(text) <= most:
        return len(text)
    return max(1, bisect_right(range(len(text)), most, key=lambda end: _size(text[:end])) - 1)


def _size(text: str) -> int:
    return len(msgspec.json.encode(text)) - len('""')


def beginning(answer: str) -> str:
    return part_of(answer, 0, BEGINNING).text.rstrip()
