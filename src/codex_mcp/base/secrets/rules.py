"""Pure. Rules that recognise secrets, and those of gitleaks, which are in the data file beside this module.

`python -m tests.support.gitleaks_rules` generates that file from gitleaks's own. Its licence is in `rules.LICENSE`.
"""

from __future__ import annotations

import functools
import re
from typing import Final, NamedTuple

import msgspec

START: Final = "<START>"
END: Final = "<END>"
"""In a pattern: where a secret starts and ends."""

LEFT: Final = (
    r"(?:(?<![A-Za-z0-9])|(?<=\\[abefnrtv])|(?<=\\u[0-9A-Fa-f]{4})|(?<=\\x[0-9A-Fa-f]{2})|(?<=%[0-9A-Fa-f]{2}))"
)
"""The start of a word, also after an escape such as `\\n`, `\\u001b` or `%3D`, which ends with a letter or digit."""

RIGHT: Final = r"(?![A-Za-z0-9])"


class Rule(NamedTuple):
    """A pattern that is tried where one of its keywords occurs. It masks its group `secret`, or the whole match."""

    name: str
    keywords: tuple[str, ...]
    """In lower case. A text without any of these has no such secret."""
    pattern: str
    begins: bool = True
    """Every match begins with a keyword; otherwise the whole text is searched."""
    digit: bool = False
    """A match without a digit is an ordinary word and is not masked."""


def expanded(pattern: str) -> str:
    """The pattern in the syntax of `re`."""
    return pattern.replace(START, LEFT).replace(END, RIGHT)


@functools.cache
def compiled(pattern: str) -> re.Pattern[str]:
    """The pattern, compiled when it is first needed: compiling all of them takes a quarter of a second."""
    return re.compile(expanded(pattern), re.ASCII)


class _File(msgspec.Struct):
    source: str
    rules: list[Rule]


@functools.cache
def gitleaks_rules() -> tuple[Rule, ...]:
    with open(__file__.removesuffix(".py") + ".json", "rb") as file:
        return tuple(msgspec.json.decode(file.read(), type=_File).rules)
