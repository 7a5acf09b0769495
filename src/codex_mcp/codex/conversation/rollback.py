"""Drops the last turns of a conversation. Codex changes only the conversation, never the files."""

from __future__ import annotations

from typing import Final

from msgspec import UNSET

from codex_mcp.codex.core import Core, CoreError
from codex_mcp.wire.app.history import ListTurns, TurnPage
from codex_mcp.wire.app.requests import ThreadRevert

PAGE: Final = 100
"""Turns of one answer, newest first."""

NOTE: Final = "Dropped from the conversation: {}. Files are not rolled back."


async def drop_turns(core: Core, thread_id: str, count: int) -> str:
    """Drop this many turns, and return a sentence about it. Raises CoreError if there are fewer, or if it cannot.

    The thread must be idle: Codex would change the conversation of a running turn, which then never ends.
    """
    first = await _turn_from_the_end(core, thread_id, count)
    await core.request("thread/revert", ThreadRevert(thread_id, first), dict)
    return NOTE.format("the last turn" if count == 1 else f"the last {count} turns")


async def _turn_from_the_end(core: Core, thread_id: str, count: int) -> str:
    cursor: str | None = None
    seen = 0
    while True:
        asked = ListTurns(thread_id, min(PAGE, count - seen), UNSET if cursor is None else cursor, "notLoaded")
        page = await core.request("thread/turns/list", asked, TurnPage)
        if seen + len(page.data) >= count:
            return page.data[count - seen - 1].id
        seen += len(page.data)
        cursor = page.next_cursor
        if cursor is None or not page.data:
            there = "1 turn" if seen == 1 else f"{seen} turns"
            raise CoreError(f"the conversation has only {there}, so {count} cannot be dropped; nothing was changed")
