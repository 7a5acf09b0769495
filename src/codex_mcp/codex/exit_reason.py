"""Pure. Which line of what a program wrote to stderr says why it ended.

what is there                               the line
------------------------------------------  --------------------------------------------------
"Error: …", with or without a backtrace     the last such line
"thread '…' panicked at …"                  that line, and the message in the line after it
neither                                     the last line that is not part of a backtrace
"""

from __future__ import annotations

import re
from typing import Final

LONGEST: Final = 500
"""Characters of a line that are quoted."""

_COLOURS: Final = re.compile(r"\x1b\[[0-9;]*[A-Za-z]")
_PANIC: Final = re.compile(r"thread '.*' (\(\d+\) )?panicked at ")
_OF_A_BACKTRACE: Final = re.compile(r"\d+: |at |stack backtrace:|note: |\[\.\.\.", re.IGNORECASE)


def reason_in(stderr: str) -> str:
    """The line that names the error; empty if none does."""
    lines = _lines(stderr)
    for at in range(len(lines) - 1, -1, -1):
        if lines[at].startswith("Error:"):
            return lines[at][:LONGEST]
        if _PANIC.match(lines[at]):
            is_split = lines[at].endswith(":") and at + 1 < len(lines)  # since Rust 1.73 the message has its own line
            return (f"{lines[at]} {lines[at + 1]}" if is_split else lines[at])[:LONGEST]
    return ""


def last_words(stderr: str) -> str:
    """The line to quote of a program that did not start; empty if it said nothing."""
    telling = [line for line in _lines(stderr) if not _OF_A_BACKTRACE.match(line)]
    return reason_in(stderr) or (telling[-1][:LONGEST] if telling else "")


def _lines(stderr: str) -> list[str]:
    plain = _COLOURS.sub("", stderr)
    return [line.strip() for line in plain.splitlines() if line.strip()]
