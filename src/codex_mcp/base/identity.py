"""Pure. The rule for the identity of an agent, and the choice of one.

An identity becomes part of paths, addresses and instructions, so it has only small letters, digits and hyphens.
"""

from __future__ import annotations

import re
from collections.abc import Container
from typing import Final

from codex_mcp.base.errors import Refused

LONGEST: Final = 64
"""Characters. An identity becomes the name of a folder."""

ATTEMPTS: Final = 1000
"""Numbers tried after a default identity. A team has ten agents by default; needing more than this is a mistake."""

EXPECTED: Final = f"a name of a-z, 0-9 and -, at most {LONGEST} characters, such as reviewer-2"
"""What an error says that refuses an identity in a settings file."""

_IDENTITY: Final = re.compile(rf"[a-z0-9][a-z0-9-]{{0,{LONGEST - 1}}}")


def is_identity(name: str) -> bool:
    return _IDENTITY.fullmatch(name) is not None


def why_invalid(name: str) -> str | None:
    """A sentence about what is wrong with this identity, or None if it is valid."""
    if is_identity(name):
        return None
    if not name:
        trouble = "it is empty"
    elif len(name) > LONGEST:
        trouble = f"it has {len(name)} characters"
    elif name.startswith("-"):
        trouble = "it begins with a hyphen"
    else:
        wrong = next(letter for letter in name if not is_identity(f"a{letter}"))
        trouble = f"it contains {wrong!a}"
    return (
        f"cannot use {name[:LONGEST]!a} as an identity: {trouble}; "
        f"use up to {LONGEST} small letters, digits and hyphens, beginning with a letter or digit"
    )


def choose_identity(asked: str | None, default: str, taken: Container[str]) -> str:
    """The identity of a new agent: the one asked for, else the default, numbered from 2 if it is taken.

    An identity that was asked for is never changed: its caller must learn that it is taken. Raises Refused when all
    numbers have been tried.
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
