"""What the answer to a call of an old Codex says about its turn."""

from __future__ import annotations

import asyncio

import msgspec
from msgspec import Raw

from codex_mcp.codex.core import CoreError, CoreLost
from codex_mcp.rpc.errors import AnswerTooLong, ConnectionLost
from codex_mcp.wire import legacy


def failure_of(answer: asyncio.Future[Raw]) -> CoreError | None:
    """Why a call failed, if it did."""
    exc = answer.exception()
    if isinstance(exc, ConnectionLost):
        return CoreLost("Codex ended before the turn had ended")
    if isinstance(exc, AnswerTooLong):
        return None  # it repeats what the events have said
    if exc is not None:
        return CoreError(str(exc))
    try:
        result = msgspec.json.decode(answer.result(), type=legacy.CallResult)
    except msgspec.MsgspecError as unreadable:
        return CoreError(f"Codex answered in a form that this release cannot read: {unreadable}")
    return CoreError(result.text or "Codex did not say why") if result.is_error else None
