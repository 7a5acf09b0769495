"""Pure. Rules by which secrets are recognised, and those of gitleaks, which are data in the file beside this module.

`python -m tests.support.gitleaks_rules` makes that file of gitleaks's own. Its licence is in `secret_rules.LICENSE`.
"""

from __future__ import annotations

import functools
import re
from typing import Final, NamedTuple

import msgspec

START: Final = "<START>"
END: Final = "<END>"
"""In a pattern, where a secret starts and ends."""

LEFT: Final = (
    r"(?:(?<![A-Za-z0-9])|(?<=\\[abefnrtv])|(?<=\\u[0-9A-Fa-f]{4})|(?<=\\x[0-9A-Fa-f]{2})|(?<=%[0-9A-Fa-f]{2}))"
)
"""The start of a word, also after an escape such as `\\n`, `\\u001b` or `%3D`, whose last letter is no part of it."""

RIGHT: Final = r"(?![A-Za-z0-9])"


class Rule(NamedTuple):
    """A pattern that is tried where one of its keywords occurs, and what it masks: its group `secret`, or all of it."""

    name: str
    keywords: tuple[str, ...]
    """In lower case. Without one of these the text holds no such secret."""
    pattern: str
    begins: bool = True
    """Every match begins with a keyword; else the whole text is searched."""
    digit: bool = False
    """A match without a digit is a word of some language."""


def expanded(pattern: str) -> str:
    """The pattern in the words of `re`."""
    return pattern.replace(START, LEFT).replace(END, RIGHT)


@functools.cache
def compiled(pattern: str) -> re.Pattern[str]:
    """The pattern, compiled when the first text needs it: all of them would take a quarter of a second."""
    return re.compile(expanded(pattern), re.ASCII)


class _File(msgspec.Struct):
    source: str
    rules: list[Rule]


@functools.cache
def gitleaks_rules() -> tuple[Rule, ...]:
    """The rules in the data file."""
    with open(__file__.removesuffix(".py") + ".json", "rb") as file:
        return tuple(msgspec.json.decode(file.read(), type=_File).rules)
