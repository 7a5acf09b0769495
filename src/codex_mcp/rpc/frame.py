"""Pure. A frame: bytes with a boundary, or the fact that one had to be thrown away."""

from __future__ import annotations

from typing import TypeAlias

from msgspec import Struct


class Unreadable(Struct, frozen=True):
    """A frame that was thrown away, and why."""

    reason: str


Frame: TypeAlias = bytes | Unreadable
