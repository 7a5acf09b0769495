"""How many connections fit into what the system allows; tests/acceptance/test_http_strangers.py goes beyond that."""

import asyncio

import pytest

from codex_mcp.transports import connections
from codex_mcp.transports.connections import (
    FEWEST,
    Connections,
    InputClock,
    Stall,
    allowed_descriptors,
    connections_for,
)
from tests.support.clock import Clock, run_with_clock
from tests.support.patience import PATIENCE


@pytest.mark.parametrize(
    ("descriptors", "most"),
    [(16, FEWEST), (80, 16), (256, 192), (1024, 896), (65536, 64512), (1 << 20, 1047552)],
)
def test_some_descriptors_are_kept_for_codex_and_files(descriptors: int, most: int) -> None:
    assert connections_for(descriptors) == most


def test_there_is_room_for_clients_here() -> None:
    assert allowed_descriptors() >= 256
    assert len(Connections()) == 0


class Line(asyncio.Transport):
    """A connection whose client is read, or not."""

    def __init__(self) -> None:
        super().__init__()
        self.reads = True

    def is_reading(self) -> bool:
        return self.reads

    def is_closing(self) -> bool:
        return False


async def test_only_a_message_that_is_not_complete_is_late(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connections, "INPUT_SECONDS", 0.01)
    late = {name: asyncio.Event() for name in ("complete", "next", "paused")}
    paused = Line()
    paused.reads = False
    clocks = {
        name: InputClock(paused if name == "paused" else Line(), lambda: 1, event.set) for name, event in late.items()
    }
    for clock in clocks.values():
        clock.restart()
        assert not clock.is_running, "nothing has come"
        clock.start()
    clocks["complete"].stop()
    clocks["next"].stop()
    clocks["next"].start()
    async with asyncio.timeout(PATIENCE):
        await late["next"].wait()
        assert not late["complete"].is_set()
        assert not late["paused"].is_set(), "its client cannot go on"
        paused.reads = True
        await late["paused"].wait()
    for clock in clocks.values():
        clock.close()


class Buffer(asyncio.Transport):
    """A connection of which nothing is known but how much waits to be sent on it."""

    def __init__(self) -> None:
        super().__init__()
        self.waiting = 0
        self.aborted = False

    def get_write_buffer_size(self) -> int:
        """How much waits."""
        return self.waiting

    def abort(self) -> None:
        """It is cut."""
        self.aborted = True


def test_a_slow_reader_is_not_cut_as_long_as_it_reads() -> None:
    async def story(clock: Clock) -> None:
        buffer = Buffer()
        stall = Stall(buffer, timeout=60)
        cut = []
        buffer.waiting = 1000
        stall.begin()
        for waiting in (999, 500, 500):
            buffer.waiting = waiting
            await clock.advance(60)
            cut.append(buffer.aborted)
        assert cut == [False, False, True]

    run_with_clock(story)


def test_one_that_has_taken_enough_is_left_alone() -> None:
    async def story(clock: Clock) -> None:
        buffer = Buffer()
        stall = Stall(buffer, timeout=60)
        stall.begin()
        stall.end()
        stall.end()
        await clock.advance(120)
        assert not buffer.aborted

    run_with_clock(story)
