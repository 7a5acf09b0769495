"""Turns are dropped from the end of a conversation, however many pages Codex lists them on."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from codex_mcp.codex.conversation.recorded_turns import PAGE
from codex_mcp.codex.conversation.rollback import drop_turns
from codex_mcp.codex.core import CoreError
from tests.codex.test_app_server import Core, core
from tests.support.rpc.far_end import Json


class Listing:
    """The far end of an app-server whose thread has so many turns, on pages of so many."""

    def __init__(self, far: Core, turns: int, page: int) -> None:
        self._far = far
        self._turns = [{"id": f"turn {number}"} for number in reversed(range(turns))]
        self._page = page
        self.reverted: Json | None = None

    async def answer(self) -> None:
        """Answer every request."""
        while True:
            asked = await self._far.hear()
            method, params = asked["method"], asked["params"]
            if method == "thread/revert":
                self.reverted = params
                self._far.say(id=asked["id"], result={})
                continue
            assert method == "thread/turns/list"
            assert 0 < params["limit"] <= PAGE
            first = int(params.get("cursor", 0))
            last = first + min(self._page, params["limit"])
            following = str(last) if last < len(self._turns) else None
            self._far.say(id=asked["id"], result={"data": self._turns[first:last], "nextCursor": following})


@given(st.integers(0, 30), st.integers(1, 7), st.integers(1, 40))
async def test_exactly_so_many_are_dropped_or_none(turns: int, page: int, count: int) -> None:
    async with core() as far:
        listing, dropped = Listing(far, turns, page), list[str]()
        far.tasks.spawn(listing.answer(), name="answers")
        if count > turns:
            with pytest.raises(CoreError, match=f"has only {turns} turn"):
                await drop_turns(far.app, "thread", count, dropped.append)
            assert (listing.reverted, dropped) == (None, [])
            return
        said = await drop_turns(far.app, "thread", count, dropped.append)
        assert dropped == [f"turn {turns - count}"]
        assert listing.reverted == {"threadId": "thread", "beforeTurnId": f"turn {turns - count}"}
        assert "Files are not rolled back" in said
