"""Drops the last turns of a conversation. Codex changes only the conversation, never the files."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from codex_mcp.codex.conversation.recorded_turns import list_recorded_turns
from codex_mcp.codex.core import Core, CoreError
from codex_mcp.wire.app.requests import ThreadRevert

NOTE: Final = "Dropped from the conversation: {}. Files are not rolled back."


async def drop_turns(core: Core, thread_id: str, count: int, dropped: Callable[[str], None]) -> str:
    """Drop this many turns, and return a sentence about it. Raises CoreError if there are fewer, or if it cannot.

    `dropped` is told the first of them.

    The thread must be idle: Codex would change the conversation of a running turn, which then never ends.
    """
    first = await _turn_from_the_end(core, thread_id, count)
    await core.request("thread/revert", ThreadRevert(thread_id, first), dict)
    dropped(first)
    return NOTE.format("the last turn" if count == 1 else f"the last {count} turns")


async def _turn_from_the_end(core: Core, thread_id: str, count: int) -> str:
    seen = 0
    async for turn in list_recorded_turns(core, thread_id, count):
        seen += 1
        if seen == count:
            return turn.id
    there = "1 turn" if seen == 1 else f"{seen} turns"
    raise CoreError(f"the conversation has only {there}, so {count} cannot be dropped; nothing was changed")
