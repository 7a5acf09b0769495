"""Pure. The errors of conversation methods, with the codes and texts of 0.42.0."""

from __future__ import annotations

from typing import Final

from codex_mcp.codex.core import AFTER_LOSS
from codex_mcp.rpc.errors import RequestFailed, request_failed
from codex_mcp.wire.jsonrpc import INTERNAL_ERROR, INVALID_REQUEST

SHOWN: Final = 200
"""Characters of a client's id or path that an error repeats."""


def refused(text: str) -> RequestFailed:
    """The caller's mistake."""
    return request_failed(INVALID_REQUEST, text)


def failed(text: str) -> RequestFailed:
    """Something went wrong here."""
    return request_failed(INTERNAL_ERROR, without_tools(text))


def without_tools(text: str) -> str:
    """The reason for a failure without the advice to call a tool, which these clients do not use."""
    return text.replace(AFTER_LOSS, "A new Codex starts by itself.")


def conversation_not_found(conversation_id: str) -> RequestFailed:
    """The same for a conversation of another owner and for one that does not exist."""
    return refused(f"conversation not found: {conversation_id[:SHOWN]}")


def subscription_not_found(subscription_id: str) -> RequestFailed:
    return refused(f"subscription not found: {subscription_id[:SHOWN]}")
