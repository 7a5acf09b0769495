"""Turns are dropped from the end of a conversation, however many pages Codex lists them on."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import UNSET

from codex_mcp.codex.core import Core, CoreError
from codex_mcp.codex.rollback import PAGE, drop_turns
from codex_mcp.wire.app.history import ListTurns, StoredTurn, TurnPage
from codex_mcp.wire.app.requests import ThreadRevert


class Listing:
    """A core that lists so many turns, on pages of so many."""

    def __init__(self, turns: int, page: int) -> None:
        self._turns = [StoredTurn(f"turn {number}") for number in reversed(range(turns))]
        self._page = page
        self.reverted: ThreadRevert | None = None

    async def request(self, method: str, params: object, answer_type: object) -> object:
        """As the app-server answers."""
        if isinstance(params, ThreadRevert):
            self.reverted = params
            return {}
        assert isinstance(params, ListTurns)
        assert 0 < params.limit <= PAGE
        first = 0 if params.cursor is UNSET else int(str(params.cursor))
        last = first + min(self._page, params.limit)
        return TurnPage(self._turns[first:last], str(last) if last < len(self._turns) else None)


@given(st.integers(0, 30), st.integers(1, 7), st.integers(1, 40))
async def test_exactly_so_many_are_dropped_or_none(turns: int, page: int, count: int) -> None:
    listing = Listing(turns, page)
    core: Core = listing  # type: ignore[assignment]  # only `request` is used
    if count > turns:
        with pytest.raises(CoreError, match=f"has only {turns} turn"):
            await drop_turns(core, "thread", count)
        assert listing.reverted is None
        return
    said = await drop_turns(core, "thread", count)
    assert listing.reverted == ThreadRevert("thread", f"turn {turns - count}")
    assert "Files are not rolled back" in said
