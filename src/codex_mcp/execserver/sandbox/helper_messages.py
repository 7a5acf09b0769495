"""Pure. What the server and a confined helper say to each other: a file request, and what came of it."""

from __future__ import annotations

from typing import Final

from msgspec import Raw, Struct

from codex_mcp.wire.jsonrpc import ErrorObject

BEGUN: Final = b"!"
SIZE_BYTES: Final = 8


class Question(Struct, frozen=True):
    """A file request: the name of its type, and its fields."""

    kind: str
    params: Raw


class Reply(Struct, frozen=True):
    """What came of it."""

    result: Raw = Raw(b"null")
    error: ErrorObject | None = None


def framed(content: bytes) -> bytes:
    """With its size before it."""
    return len(content).to_bytes(SIZE_BYTES, "big") + content
