"""Pure. What servers tell each other of a wait that is about agents of several: each looks at its own part."""

from __future__ import annotations

from typing import Final

from msgspec import Struct

PART: Final = "codex-mcp/part"
"""In the `_meta` of a `codex_wait` that another server forwards."""


class Glance(Struct, frozen=True):
    """What a part of a wait is like now."""

    is_asking: bool = False
    """A question is news."""
    has_news: bool = False
    runs: bool = False
    has_work: bool = False
    """There is something that it is about."""


class Part(Struct, frozen=True, omit_defaults=True):
    """The part of a wait that is about the agents of one server."""

    ids: tuple[str, ...] | None = None
    """What the caller calls them; None: the caller's own work."""
    known: Glance | None = None
    """The answer is a Glance, once it is another one."""
    collects: bool = False
    """The answer is the result of the part as it is now."""
