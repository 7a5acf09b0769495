"""Pure. The names of agents: which are names at all, and which one an agent gets.

A name becomes part of paths, addresses and instructions, so that it is plain: small letters, digits and hyphens.
"""

from __future__ import annotations

import re
from collections.abc import Container
from typing import Final

from codex_mcp.base.errors import Refused

LONGEST: Final = 64

ATTEMPTS: Final = 1000
"""Numbers that are tried behind a default name. A team has ten agents by default; far more than this is a mistake."""

_NAME: Final = re.compile(rf"[a-z0-9][a-z0-9-]{{0,{LONGEST - 1}}}")


def is_valid(name: str) -> bool:
    """Whether an agent may have this name."""
    return _NAME.fullmatch(name) is not None


def why_invalid(name: str) -> str | None:
    """A sentence about what is wrong with this name, or None if nothing is."""
    if is_valid(name):
        return None
    if not name:
        trouble = "it is empty"
    elif len(name) > LONGEST:
        trouble = f"it has {len(name)} characters"
    elif name.startswith("-"):
        trouble = "it begins with a hyphen"
    else:
        wrong = next(letter for letter in name if _NAME.fullmatch(f"a{letter}") is None)
        trouble = f"it has {wrong!a} in it"
    return (
        f"cannot use {name[:LONGEST]!a} as an identity: {trouble}; "
        f"use up to {LONGEST} small letters, digits and hyphens, beginning with a letter or digit"
    )


def chosen(asked: str | None, default: str, taken: Container[str]) -> str:
    """The name of a new agent: the one that was asked for, else the default, numbered from 2 if it is taken.

    A name that was asked for is never changed: whoever asked must hear that it is taken. Raises Refused when there is
    no end to the names that are taken.
    """
    if asked is not None:
        return asked
    if default not in taken:
        return default
    for number in range(2, ATTEMPTS + 2):
        suffix = f"-{number}"
        name = default[: LONGEST - len(suffix)] + suffix
        if name not in taken:
            return name
    raise Refused(
        f"cannot name the agent: {default!r} and {ATTEMPTS} numbered names after it are taken; give an identity"
    )
