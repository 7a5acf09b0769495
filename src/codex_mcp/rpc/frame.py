"""Pure. A frame: bytes with a boundary, or the fact that one had to be thrown away."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias


@dataclass(frozen=True, slots=True)
class Unreadable:
    """A frame that was thrown away, and why."""

    reason: str


Frame: TypeAlias = bytes | Unreadable
