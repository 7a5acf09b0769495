"""The keeper: renews on the beat, freezes by itself, and says once that it was taken over."""

import asyncio
import logging
from pathlib import Path

import pytest

from codex_mcp.state.contract import Bounds, Renewed
from codex_mcp.state.embedded.store import open_store
from codex_mcp.state.keeper import Keeper, LeaseNews
from codex_mcp.state.lease import FREEZE_AT, Phase
from tests.support.clock import Clock, run_with_clock
from tests.support.state.memory import MemoryStore, World

TTL = 8.0


class Scene:
    """A keeper, and another node that watches."""

    def __init__(self, clock: Clock) -> None:
        self.stood_still = 0.0
        self.world = World(Bounds(ttl=TTL), lambda: clock.now + self.stood_still)
        self.store, self.other = MemoryStore(self.world), MemoryStore(self.world)
        self.losses = 0
        self.returns = 0
        self.overdue: list[float] = []
        self.keeper = Keeper(
            self.store.leases, LeaseNews(self._lost, self._overdue, self._back), ttl=TTL, clock=self.world.clock
        )

    def _back(self) -> None:
        assert self.keeper.holding
        self.returns += 1

    def _overdue(self) -> None:
        assert self.keeper.phase is Phase.FROZEN
        self.overdue.append(self.world.clock())

    def _lost(self) -> None:
        self.losses += 1


def test_a_lease_is_held_as_long_as_the_keeper_runs() -> None:
    async def test(clock: Clock) -> None:
        scene = Scene(clock)
        assert scene.keeper.phase is Phase.JOINING
        node = await scene.keeper.join("here")
        await scene.other.leases.join()
        for _ in range(50):
            await clock.advance(1.0)
            assert scene.keeper.holding
            await scene.other.leases.renew()
            assert await scene.other.leases.take(node.id) == []
        await scene.keeper.aclose()
        await scene.keeper.aclose()
        assert [found.id for found in await scene.other.leases.nodes()] != [node.id]

    run_with_clock(test)


def test_a_process_that_stood_still_knows_it_before_anything_else_runs() -> None:
    async def test(clock: Clock) -> None:
        scene = Scene(clock)
        await scene.keeper.join()
        await clock.advance(2 * TTL)
        scene.stood_still = TTL
        assert (scene.keeper.phase, scene.returns) == (Phase.FROZEN, 0)
        await clock.advance(TTL / 4)
        assert scene.keeper.holding
        await clock.advance(TTL)
        assert (len(scene.overdue), scene.returns) == (1, 1)
        await scene.keeper.aclose()

    run_with_clock(test)


@pytest.mark.parametrize("way", ["gone", "silent"])
def test_before_another_node_may_take_over_it_is_told_that_the_lease_is_overdue(way: str) -> None:
    async def test(clock: Clock) -> None:
        scene = Scene(clock)
        node = await scene.keeper.join()
        await scene.other.leases.join()
        await clock.advance(2 * TTL)
        await scene.keeper.renew()
        sent_at = clock.now
        if way == "gone":
            scene.store.is_closed = True
        else:
            scene.store.leases.renew = never  # type: ignore[method-assign]
        while node.id in scene.world.members:
            await scene.other.leases.take(node.id)
            await clock.advance(0.125)
            await scene.other.leases.renew()
        assert scene.overdue == [sent_at + FREEZE_AT * TTL]
        assert clock.now >= sent_at + TTL
        scene.store.is_closed = False
        await scene.keeper.aclose()

    run_with_clock(test)


async def never() -> Renewed:
    """An answer that does not come."""
    answer: asyncio.Future[Renewed] = asyncio.get_running_loop().create_future()
    return await answer


def test_one_that_was_taken_over_says_so_once_and_can_join_again(caplog: pytest.LogCaptureFixture) -> None:
    async def test(clock: Clock) -> None:
        scene = Scene(clock)
        node = await scene.keeper.join()
        await scene.other.leases.join()
        scene.world.stop(node.id)
        await scene.other.leases.take(node.id)
        with caplog.at_level(logging.WARNING):
            await clock.advance(3 * TTL)
            await scene.keeper.renew()
        assert (scene.losses, scene.keeper.phase) == (1, Phase.LOST)
        assert [record.getMessage() for record in caplog.records] == [
            "the lease of this server was holding and is lost: another server found it silent and took over"
        ]
        assert (await scene.keeper.join()).id != node.id
        await clock.advance(3 * TTL)
        assert scene.keeper.holding
        await scene.keeper.aclose()

    run_with_clock(test)


def test_a_store_that_is_away_freezes_the_node_and_is_logged_once(caplog: pytest.LogCaptureFixture) -> None:
    async def test(clock: Clock) -> None:
        scene = Scene(clock)
        await scene.keeper.join()
        scene.store.is_closed = True  # every call is Unavailable
        with caplog.at_level(logging.INFO):
            await clock.advance(3 * TTL)
            assert scene.keeper.phase is Phase.FROZEN
            scene.store.is_closed = False
            await clock.advance(TTL)
            assert scene.keeper.holding
        assert [(record.levelname, record.getMessage().partition(":")[0]) for record in caplog.records] == [
            ("WARNING", "the lease of this server was holding and is frozen"),
            ("INFO", "the lease of this server was frozen and is holding"),
        ]
        scene.store.is_closed = True
        await scene.keeper.aclose()

    run_with_clock(test)


async def test_what_a_late_renewal_says_of_the_earlier_node_does_not_hurt_the_new_one(tmp_path: Path) -> None:
    losses: list[int] = []
    store = await open_store(str(tmp_path))
    keeper = Keeper(store.leases, LeaseNews(lambda: losses.append(1)))
    await keeper.join()
    for late_first in (False, True):
        calls = [keeper.join(), keeper.renew()]
        await asyncio.gather(*(reversed(calls) if late_first else calls))
        assert keeper.holding
    assert losses == []
    await keeper.aclose()
    await store.aclose()
