"""One server's session with the store: its lease, its record writer, its audit. Opened when first needed.

If this server does not renew its lease in time, another one may take over its agents. Then the listener is told, and
the session joins again as a new node.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import socket
from collections.abc import Awaitable, Callable
from typing import Final, Protocol, TypeAlias

from codex_mcp.base.blocking import in_thread
from codex_mcp.base.tasks import TaskSet
from codex_mcp.codex.silent_server import end_codex_of
from codex_mcp.state.contract import Claim, Fenced, LeaseLost, OwnedBy, Store, Unavailable
from codex_mcp.state.keeper import Keeper, LeaseNews
from codex_mcp.team.agent import Agent, Holder, Owner, abandoned, inactive, is_orphan
from codex_mcp.team.records.agent_store import AGENT, finish_agent, own_names, read_agent, write_agent
from codex_mcp.team.records.audit import Audit
from codex_mcp.team.records.record_writer import RecordWriter
from codex_mcp.team.records.registry import FILE, RegistryFile, read_registry
from codex_mcp.team.records.standstill import Standstill, Still

logger = logging.getLogger(__name__)

RENEWAL_PATIENCE: Final = 1.0
"""Seconds that a caller waits who could be told to try again."""

LOOKS: Final = 2
LOOKS_FAR: Final = 12
"""Looks for dead servers per TTL. That one of another machine has died is seen by its lease only."""

FROZEN: Final = (
    "This server begins nothing new, because it could not renew its lease: other servers may take over its agents. "
    "Try again in a moment."
)


def still_overdue() -> Unavailable:
    return Unavailable(FROZEN)


OpenStore: TypeAlias = Callable[[], Awaitable[Store]]


class SessionListener(Still, Protocol):
    """Is told which node this server is, and when agents of this server may belong to another one."""

    def joined(self, owner: Owner) -> None:
        """This server is this node from now on."""

    def agent_taken_over(self, claim: Claim) -> None:
        """Another server has claimed this agent."""

    def all_taken_over(self) -> None:
        """Another server has claimed all agents of this one."""

    def lease_renewed_late(self) -> None:
        """The lease had expired before it was renewed: other servers may have claimed some agents."""


class StoreSession:
    def __init__(self, state_dir: str, open_store: OpenStore, listener: SessionListener, address: str = "") -> None:
        """`address`: what other nodes are told of where this one is."""
        self._state_dir = state_dir
        self._address = address
        self._open_store = open_store
        self._listener = listener
        self._opening: asyncio.Task[None] | None = None
        self._tasks = TaskSet()
        self._keeper: Keeper | None = None
        self._store: Store | None = None
        self._writer: RecordWriter | None = None
        self.audit = Audit(state_dir)
        self.owner = Owner(node="", pid=os.getpid(), host=socket.gethostname())
        self._watching: asyncio.Task[None] | None = None
        self._still = Standstill(listener, self._still_ours)
        self._has_lost_agents = False

    @property
    def store(self) -> Store:
        """Only when ready."""
        if self._store is None:
            raise RuntimeError("the store is not open yet")
        return self._store

    @property
    def writer(self) -> RecordWriter:
        """Only when ready."""
        if self._writer is None:
            raise RuntimeError("the store is not open yet")
        return self._writer

    @property
    def lease(self) -> str:
        return "none" if self._keeper is None else str(self._keeper.phase)

    @property
    def is_open(self) -> bool:
        return self._writer is not None

    @property
    def trouble(self) -> str | None:
        opening = self._opening
        if opening is not None and opening.done() and not opening.cancelled() and (why := opening.exception()):
            return str(why)
        return None if self._writer is None else self._writer.trouble

    def open_soon(self) -> None:
        """Begin to open it. The first call that needs it is told of a failure."""
        self._opened()

    async def ready(self) -> None:
        """Wait until it is open, and this server holds its lease. Raises Unavailable."""
        await self._wait_open()
        if self._keeper is not None and not self._keeper.holding:
            # The lease has expired. Before anything is done, find out which agents are still ours.
            await self._renew_soon(self._keeper)
            await self._wait_open()
            await self.writer.flush()  # which reports each agent that is not
        if not await self._still.over(RENEWAL_PATIENCE):
            raise still_overdue()

    async def _renew_soon(self, keeper: Keeper) -> None:
        """Renew the lease. Raises Unavailable if that fails and servers of other machines may take our agents over."""
        if not self.store.spans_machines:
            await keeper.renew()
            return
        renewal = self._tasks.spawn(keeper.renew(), name="renewal of an expired lease")
        await asyncio.wait([renewal], timeout=RENEWAL_PATIENCE)
        if not keeper.holding:
            raise still_overdue()

    async def _wait_open(self) -> None:
        opening = self._opened()
        if not opening.done():  # the first call only
            # Not awaited itself: the caller may be cancelled while others still wait.
            await asyncio.wait([opening])
        opening.result()

    def _opened(self) -> asyncio.Task[None]:
        failed = (
            self._opening is not None
            and self._opening.done()
            and (self._opening.cancelled() or self._opening.exception() is not None)
        )
        if self._opening is None or failed:
            self._opening = self._tasks.spawn(self._open(), name="opening of the state folder")
        return self._opening

    async def _open(self) -> None:
        if self._store is None:
            self._store = await self._open_store()
            self._keeper = Keeper(
                self._store.leases,
                LeaseNews(self._lease_lost, self._overdue, self._back),
                ttl=self._store.bounds.ttl,
            )
        assert self._keeper is not None
        node = await self._keeper.join(self._address)
        self.owner = Owner(node.id, node.pid, node.host)
        self._listener.joined(self.owner)
        if self._writer is None:
            await import_registry(self._store, self._state_dir)
            await own_names(self._store)
            self._writer = RecordWriter(self._store, RegistryFile(self._state_dir), self._agent_lost)
        await self._finish_orphans()
        await self._take_over_dead()
        if self._watching is None:
            looks = LOOKS_FAR if self._store.spans_machines else LOOKS
            self._watching = self._tasks.spawn(self._watch(self._store.bounds.ttl / looks), name="looking for the dead")

    async def _watch(self, seconds: float) -> None:
        """Mark agents as stale soon after their server has died."""
        while True:
            await asyncio.sleep(seconds)
            with contextlib.suppress(LeaseLost, Unavailable):  # the keeper of the lease reports both
                await self._take_over_dead()

    def _overdue(self) -> None:
        # On one machine, a server that takes over ends the Codex of a silent one (`end_silent`).
        if self.store.spans_machines:
            self._has_lost_agents = False
            self._still.begin()

    def _back(self) -> None:
        if self._still.holds:
            self._still.renewed()
        else:
            self._listener.lease_renewed_late()

    async def _still_ours(self) -> bool | None:
        """Whether all agents that run here are still ours; None if that is not known yet."""
        self._listener.lease_renewed_late()
        await self.writer.flush()
        is_known = self.writer.trouble is None and self._keeper is not None and self._keeper.holding
        return not self._has_lost_agents if is_known else None

    def _agent_lost(self, claim: Claim) -> None:
        self._has_lost_agents = True
        self._listener.agent_taken_over(claim)

    def _lease_lost(self) -> None:
        logger.error("another server has taken over the agents of this one, which was silent for too long")
        self._listener.all_taken_over()
        self._opening = self._tasks.spawn(self._rejoin(), name="joining again")

    async def _rejoin(self) -> None:
        await self._still.taken_over()
        await self._open()

    async def _take_over_dead(self) -> None:
        dead = [node for node in await self.store.leases.nodes() if not node.alive]
        for node in dead:
            logger.info("server %s (process %d on %s) is gone", node.id, node.pid, node.host)
            for claim in await self.store.leases.take(node.id):
                await self._finish_abandoned(claim)
        if dead or self._watching is None:
            await self.writer.flush()

    async def _finish_orphans(self) -> None:
        """Finish agents that a server had taken over from a dead one, and did not finish before it died itself."""
        joined = {node.id for node in await self.store.leases.nodes()}
        for agent in await self.writer.agents():
            if is_orphan(agent, joined):
                claim = await self.store.leases.claim(agent.codex_id)
                if isinstance(claim, Claim):
                    await self._finish_abandoned(claim)

    async def _finish_abandoned(self, claim: Claim) -> None:
        agent = await read_agent(self.store, claim.thread)
        with contextlib.suppress(Fenced):  # another server was faster
            if agent is None:
                await self.store.leases.release(claim)
            else:
                await finish_agent(self.store, claim, abandoned(agent) if agent.is_active else agent)
                if agent.is_active:
                    words = "agent %s (%s) is stale: its server has ended without closing it; the next call resumes it"
                    logger.warning(words, agent.identity, agent.codex_id)

    async def end_silent(self, holder: Holder, thread_id: str) -> bool:
        """End the Codex that has a thread of ours open, if its server has lost its lease and has not come back."""
        where = (holder.server, holder.host)
        nodes = await self.store.leases.nodes()
        if holder.host != self.owner.host or any(node.alive and (node.pid, node.host) == where for node in nodes):
            return False
        ended = await in_thread(end_codex_of, holder.server, holder.mark)
        if ended:
            logger.warning(
                "ended the Codex of server process %d, which has been silent for too long: it had thread %s open",
                holder.server,
                thread_id,
            )
        return ended > 0

    async def aclose(self) -> None:
        await self._still.aclose()
        await self._tasks.aclose()
        if self._writer is not None:
            await self._writer.aclose()
        if self._keeper is not None:
            await self._keeper.aclose()
        if self._store is not None:
            await self._store.aclose()
        await in_thread(self.audit.close)


async def import_registry(store: Store, state_dir: str) -> None:
    """Import the agents of a registry that an older tool wrote, or whose store was lost.

    Only if the store has no agents at all: otherwise an agent that it does not have was deleted. Needs a store that has
    joined, and comes before the first write to the registry. Several machines have several registries.
    """
    if store.spans_machines or await store.records.find(AGENT):
        return
    agents = await in_thread(read_registry, os.path.join(state_dir, FILE))
    imported = [agent.codex_id for agent in agents if await _import_agent(store, agent)]
    if imported:
        logger.info("imported %d agents from the registry, which the store did not have", len(imported))


async def _import_agent(store: Store, agent: Agent) -> bool:
    claim = await store.leases.claim(agent.codex_id)
    if isinstance(claim, OwnedBy):
        return False
    is_new = await store.records.get(AGENT, agent.codex_id) is None  # else another server has just imported it
    if is_new:
        await write_agent(store, claim, inactive(agent))
    await store.leases.release(claim)
    return is_new
