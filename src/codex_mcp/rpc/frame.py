"""Pure. A frame: bytes with a boundary, the message that was in them, or the fact that they had to be thrown away."""

from __future__ import annotations

from typing import TypeAlias

from msgspec import Struct

from codex_mcp.wire.jsonrpc import Message


class Unreadable(Struct, frozen=True):
    """A frame that was thrown away, and why."""

    reason: str
    outline: bytes = b""
    """Of a message that was too long: the same JSON object with its long parts left out (`wire.outline`)."""


Frame: TypeAlias = bytes | Message | Unreadable
"""Who has had to look into the bytes already hands on the message."""
