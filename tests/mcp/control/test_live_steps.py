"""What followers of a thread are told."""

import asyncio

import pytest
from msgspec import Struct

from codex_mcp.mcp.control import live_steps
from codex_mcp.mcp.control.live_steps import LiveSteps
from codex_mcp.wire.app import items, notifications
from codex_mcp.wire.control_thread import StepTold, TextTold, TurnTold
from tests.support.patience import PATIENCE


class Told:
    """Keeps what it is told, until the last of it."""

    def __init__(self) -> None:
        self.events: list[tuple[str, Struct]] = []
        self.resyncs: list[str] = []
        self.came = asyncio.Event()

    def tell(self, kind: str, data: Struct) -> None:
        """An event."""
        self.events.append((kind, data))
        self.came.set()

    def resync(self, reason: str) -> None:
        """Something was left out."""
        self.resyncs.append(reason)
        self.came.set()

    async def wait(self) -> None:
        """For the next of them."""
        async with asyncio.timeout(PATIENCE):
            await self.came.wait()


def piece(text: str) -> notifications.MessageDelta:
    return notifications.MessageDelta(turn_id="t", item_id="m", delta=text)


async def test_pieces_of_a_text_are_joined_and_its_end_replaces_them() -> None:
    told = Told()
    live = LiveSteps(told.tell, told.resync)
    live.message_received(notifications.TurnStarted(turn=items.Turn("t")))
    live.message_received(notifications.ItemStarted("t", items.AgentMessage("m")))
    live.message_received(piece("One "))
    live.message_received(piece("two"))
    await told.wait()
    assert [kind for kind, _ in told.events] == ["turn", "item.started", "item.text"]
    turn, _, text = (data for _, data in told.events)
    assert isinstance(turn, TurnTold)
    assert isinstance(text, TextTold)
    assert (turn.status, text.text) == ("inProgress", "One two")
    told.came.clear()
    live.message_received(piece(" three"))
    live.message_received(notifications.ItemCompleted("t", items.AgentMessage("m", text="One two three")))
    await told.wait()
    kind, data = told.events[-1]
    assert isinstance(data, StepTold)
    assert (kind, data.step.text, len(told.events)) == ("item.ended", "One two three", 4)
    live.stop()


async def test_a_flood_is_bounded_and_the_follower_is_told_to_ask_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(live_steps, "MOST", 5)
    told = Told()
    live = LiveSteps(told.tell, told.resync)
    for n in range(100):
        live.message_received(notifications.ItemCompleted("t", items.AgentMessage(str(n), text="x")))
    await told.wait()
    assert (told.resyncs, told.events) == (["slow"], [])
    told.came.clear()
    live.message_received(piece("x" * 100_000))
    await told.wait()
    ((_, data),) = told.events
    assert isinstance(data, TextTold)
    assert (len(data.text), data.skipped) == (live_steps.LONGEST_TEXT, 100_000 - live_steps.LONGEST_TEXT)
    live.stop()
