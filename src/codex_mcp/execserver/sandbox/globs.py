"""Pure. Glob patterns as Codex reads them: `*` and `?` also match a slash, `**/` matches any number of folders, `[…]`
matches one of several characters and `{a,b}` one of several texts. A pattern may match more than in a shell.
"""

from __future__ import annotations

import re
from typing import Final

SPECIAL: Final = re.compile(r"[*?\[{\\]")

CLASS: Final = re.compile(r"\[([!^]?)(\]?[^\]]*)\]")

MAX_LENGTH: Final = 1000
"""Characters."""


class BadPattern(ValueError):
    """An invalid pattern; the message says why."""


def compile_glob(pattern: str) -> re.Pattern[str]:
    """An expression that matches whole paths. Raises BadPattern."""
    if len(pattern) > MAX_LENGTH:
        raise BadPattern(f"longer than {MAX_LENGTH} characters")
    try:
        return re.compile(_translated(pattern), re.DOTALL)
    except re.error as exc:
        raise BadPattern(str(exc)) from None


def search_root(pattern: str) -> str:
    """The deepest folder that contains every match of a relative pattern; may be empty."""
    found = SPECIAL.search(pattern)
    plain = pattern[: found.start()] if found else pattern
    return plain.rpartition("/")[0]


def _translated(pattern: str) -> str:
    words: list[str] = []
    at = open_braces = 0
    while at < len(pattern):
        char, size = pattern[at], 1
        if pattern.startswith("**/", at) and (at == 0 or pattern[at - 1] == "/"):
            words.append("(?:.*/)?")
            size = 3
        elif char in "*?":
            words.append(".*" if char == "*" else ".")
        elif char == "[":
            word, size = _one_of(pattern, at)
            words.append(word)
        elif char == "\\":
            words.append(re.escape(pattern[at + 1 : at + 2]))
            size = 2
        else:
            open_braces += {"{": 1, "}": -1}.get(char, 0)
            words.append(_brace(char, is_inside=open_braces > 0 or char == "}"))
        if open_braces < 0:
            raise BadPattern("a closing brace has no opening brace")
        at += size
    if open_braces:
        raise BadPattern("a brace is not closed")
    return "".join(words)


def _brace(char: str, *, is_inside: bool) -> str:
    return {"{": "(?:", "}": ")", ",": "|"}.get(char, re.escape(char)) if is_inside else re.escape(char)


def _one_of(pattern: str, at: int) -> tuple[str, int]:
    found = CLASS.match(pattern, at)
    if found is None:
        raise BadPattern("a bracket is not closed")
    negation, members = found.groups()
    if not members or "--" in members:
        raise BadPattern("brackets are empty, or contain two dashes, which is ambiguous")
    escaped = re.sub(r"([\\\[\]&~|^])", r"\\\1", members)
    return f"[{'^' if negation else ''}{escaped}]", len(found.group())
