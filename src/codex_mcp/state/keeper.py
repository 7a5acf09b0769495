"""Keeps a node's lease: renews it regularly, and knows at any moment whether the node's claims may be used."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable
from typing import TYPE_CHECKING

from msgspec import Struct

from codex_mcp.base.tasks import TaskSet
from codex_mcp.state.contract import TTL, LeaseLost, Renewed, TakenOver, Unavailable
from codex_mcp.state.lease import BEATS_PER_TTL, Lease, Phase

if TYPE_CHECKING:
    from codex_mcp.state.contract import Leases, Node

logger = logging.getLogger(__name__)


def _nothing() -> None:
    pass


class LeaseNews(Struct, frozen=True):
    """Who is told of a node's lease."""

    lost: Callable[[], None]
    """Called once for each membership that was taken over."""
    overdue: Callable[[], None] = _nothing
    """Other nodes may take this one over soon, and none of them has done so."""
    back: Callable[[], None] = _nothing
    """A frozen node holds its lease again: other nodes may have claimed some of its threads."""


class Keeper:
    """Owns a node's membership."""

    def __init__(
        self,
        leases: Leases,
        news: LeaseNews,
        *,
        ttl: float = TTL,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._leases = leases
        self._news = news
        self._clock = clock
        self._ttl = ttl
        self._lease = Lease(ttl)
        self._node: Node | None = None
        self._logged = self._lease.phase
        self._tasks = TaskSet()
        self._beating: asyncio.Task[None] | None = None
        self._alarm: asyncio.TimerHandle | None = None
        self._is_overdue = False

    async def join(self, address: str = "") -> Node:
        """Become a node, also after an earlier membership was lost, and stay one."""
        # A renewal under way belongs to the earlier node and says nothing about the new one.
        self._node, self._lease = None, Lease(self._ttl)
        sent_at = self._clock()
        node = self._node = await self._leases.join(address)
        self._lease = self._lease.renewed(sent_at, self._clock())
        self._log_if_changed("joined")
        self._is_overdue = False
        self._watch()
        if self._beating is None or self._beating.done():
            self._beating = self._tasks.spawn(self._beat(), name="keep the lease")
        return node

    @property
    def holding(self) -> bool:
        """Whether claims may be used now. A process that was paused for too long notices before it acts."""
        return self.phase is Phase.HOLDING

    @property
    def phase(self) -> Phase:
        return self._lease.at(self._clock()).phase

    async def aclose(self) -> None:
        await self._tasks.aclose()
        if self._alarm is not None:
            self._alarm.cancel()
        try:
            await self._leases.leave()
        except Unavailable as error:
            logger.info("could not leave; other servers will find this one dead: %s", error)

    async def renew(self) -> None:
        node, sent_at, why = self._node, self._clock(), "in time"
        if node is None:
            return  # it is joining
        answer: Renewed | TakenOver | None = None
        try:
            answer = await self._leases.renew()
        except Unavailable as error:
            why = str(error)
        except LeaseLost:
            answer = TakenOver()
        if self._node is not node:
            return
        match answer:
            case Renewed():
                self._watch()  # it may be overdue, and the alarm late
                self._lease = self._lease.renewed(sent_at, self._clock())
                self._watch()
                if self._is_overdue and self.holding:
                    self._is_overdue = False
                    self._news.back()
            case TakenOver():
                was_lost = self._lease.phase is Phase.LOST
                self._lease = self._lease.taken_over()
                if not was_lost:
                    self._news.lost()
        self._log_if_changed(why)

    def _watch(self) -> None:
        """Tell that the lease is overdue, now or when it will be."""
        if self._alarm is not None:
            self._alarm.cancel()
        if self.holding:
            left = max(0.0, self._lease.freezes_at - self._clock())
            self._alarm = asyncio.get_running_loop().call_later(left, self._watch)
        elif self.phase is Phase.FROZEN and not self._is_overdue:
            self._is_overdue = True
            self._log_if_changed("not renewed in time")
            self._news.overdue()

    def _log_if_changed(self, why: str) -> None:
        before, self._logged = self._logged, self.phase
        if self._logged is Phase.LOST:
            why = "another server found it silent and took over"
        if self._logged is not before:
            level = logging.INFO if self.holding else logging.WARNING
            logger.log(level, "the lease of this server was %s and is %s: %s", before, self._logged, why)

    async def _beat(self) -> None:
        while self.phase is not Phase.LOST:
            await asyncio.sleep(self._ttl / BEATS_PER_TTL)
            await self.renew()
