"""Pure. Messages between the exec-server and a confined helper process: a file request and its outcome."""

from __future__ import annotations

from typing import Final

from msgspec import Raw, Struct

from codex_mcp.wire.jsonrpc import ErrorObject

BEGUN: Final = b"!"
"""Sent by the helper before it carries out a request."""

SIZE_BYTES: Final = 8


class HelperRequest(Struct, frozen=True):
    """A file request: the name of its type, and its fields."""

    kind: str
    params: Raw


class HelperResponse(Struct, frozen=True):
    result: Raw = Raw(b"null")
    error: ErrorObject | None = None


def framed(content: bytes) -> bytes:
    return len(content).to_bytes(SIZE_BYTES, "big") + content
