"""Asks Codex for the turns that it has recorded of a conversation, all pages of them."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Final

from msgspec import UNSET
from msgspec.structs import replace

from codex_mcp.codex.core import Core, CoreError, CoreLost, OpenedThread
from codex_mcp.codex.losses import Loss, TurnsKept
from codex_mcp.wire.app.history import ListTurns, StoredTurn, TurnPage

PAGE: Final = 100
"""Turns of one answer."""


async def list_recorded_turns(core: Core, thread_id: str, at_once: int = PAGE) -> AsyncIterator[StoredTurn]:
    """The newest first, without their items. Raises CoreError."""
    cursor: str | None = None
    while True:
        asked = ListTurns(thread_id, min(PAGE, at_once), UNSET if cursor is None else cursor, "notLoaded")
        page = await core.request("thread/turns/list", asked, TurnPage)
        for turn in page.data:
            yield turn
        cursor = page.next_cursor
        if cursor is None or not page.data:
            return


async def loss_of(core: Core, opened: OpenedThread, kept: TurnsKept | None) -> Loss | None:
    """What a thread that was resumed has lost; None if nothing, or if that is not known. Raises CoreLost."""
    if kept is None or not kept.is_indexed:
        return None
    try:
        recorded = [turn async for turn in list_recorded_turns(core, opened.thread_id)]
    except CoreLost:
        raise
    except CoreError:
        return None  # it resumed the thread; a turn says what is wrong
    found = kept.loss(recorded)
    return None if found is None else replace(found, path=opened.rollout_path or "")
