"""Texts that a regular expression matches, drawn at random: for properties over rules that are data."""

from __future__ import annotations

import functools
import random
import re._constants as sre  # type: ignore[import-not-found]
import re._parser as parser  # type: ignore[import-not-found]
import string
from typing import Any, Final

ALPHABET: Final = string.ascii_letters + string.digits + "_-.+/= '\":"
"""What stands for "any character", and what a negated set is drawn from."""

MOST_REPEATS: Final = 12
"""How often an unlimited repetition is repeated beyond its least."""

CATEGORIES: Final = {
    sre.CATEGORY_DIGIT: string.digits,
    sre.CATEGORY_WORD: string.ascii_letters + string.digits + "_",
    sre.CATEGORY_SPACE: " \t",
}


def sample(pattern: str, seed: int) -> str:
    """A text that should match; lookarounds are not looked at, so that the caller checks that it does."""
    return _Drawing(random.Random(seed)).sequence(_parsed(pattern))


@functools.cache
def _parsed(pattern: str) -> list[tuple[Any, Any]]:
    return list(parser.parse(pattern))


class _Drawing:
    def __init__(self, source: random.Random) -> None:
        self._source = source
        self._groups: dict[int, str] = {}

    def sequence(self, items: list[tuple[Any, Any]]) -> str:
        return "".join(self._item(kind, value) for kind, value in items)

    def _item(self, kind: Any, value: Any) -> str:
        match kind:
            case sre.LITERAL:
                return chr(value)
            case sre.ANY | sre.NOT_LITERAL:
                return self._source.choice(string.ascii_letters)
            case sre.IN:
                return self._source.choice(_members(value))
            case sre.BRANCH:
                return self.sequence(list(self._source.choice(value[1])))
            case sre.SUBPATTERN:
                text = self.sequence(list(value[3]))
                self._groups[value[0] or 0] = text
                return text
            case sre.MAX_REPEAT | sre.MIN_REPEAT | sre.POSSESSIVE_REPEAT:
                least, most, inner = value
                times = self._source.randint(least, min(int(most), least + MOST_REPEATS))
                return "".join(self.sequence(list(inner)) for _ in range(times))
            case sre.ATOMIC_GROUP:
                return self.sequence(list(value))
            case sre.GROUPREF:
                return self._groups[value]
            case _:  # a place: the start, the end, a lookaround
                return ""


def _members(items: list[tuple[Any, Any]]) -> str:
    """The characters of a set."""
    found = ""
    for kind, value in items:
        match kind:
            case sre.LITERAL:
                found += chr(value)
            case sre.RANGE:
                found += "".join(map(chr, range(value[0], value[1] + 1)))
            case sre.CATEGORY:
                found += CATEGORIES[value]
    if items[0][0] is sre.NEGATE:
        return "".join(char for char in ALPHABET if char not in found)
    return found
