"""Pure. Comments on lines of a diff, and the message with which they travel."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from msgspec import Struct

from codex_mcp.base.errors import Refused

MOST: Final = 50
LONGEST: Final = 4000
LONGEST_LINE: Final = 500


class Comment(Struct, frozen=True):
    path: str
    line: int
    code: str
    text: str

    @property
    def place(self) -> str:
        return f"{self.path}:{self.line}" if self.line else self.path


def added(comments: Sequence[Comment], comment: Comment) -> tuple[Comment, ...]:
    """Raises Refused."""
    if not comment.text.strip():
        raise Refused("write what you want to say about this line")
    if len(comments) >= MOST:
        raise Refused(f"a message can carry {MOST} comments; send them, or remove some")
    return (*comments, comment)


def comment_of(path: str, line: str, code: str, text: str) -> Comment:
    number = int(line) if line.isdecimal() and len(line) < 10 else 0
    return Comment(path[:LONGEST_LINE], number, code[:LONGEST_LINE], text[:LONGEST].strip())


def message(text: str, comments: Sequence[Comment]) -> str:
    """The text with each comment below the line that it quotes."""
    quoted = []
    for each in comments:
        code = "".join(f"\n> {line}" for line in each.code.splitlines())
        quoted.append(f"{each.place}{code}\n{each.text}")
    return "\n\n".join(filter(None, (text.strip(), *quoted)))
