"""Pure. Steps of a thread as single lines; `thread/brief` makes them."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct


class Brief(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A step."""

    icon: str
    who: str = ""
    """Whose words they are."""
    text: str = ""
    code: str = ""
    mark: str = ""
    is_bad: bool = False
    added: int = 0
    removed: int = 0


class Before(Struct, frozen=True, kw_only=True):
    """What an agent did before it asked, and why it has to."""

    steps: Sequence[Brief] = ()
    title: str = ""
    why: str = ""
    """The sandbox and the approval policy under which it works."""
