"""Where a server keeps its papers: the store with its lease, the writer, the audit. Opened when first needed.

A server that was silent too long may find that another one has taken its agents over. Then it is told so, forgets them,
and joins again as a newcomer.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import socket
from collections.abc import Awaitable, Callable
from typing import TypeAlias

from codex_mcp.base.tasks import TaskSet
from codex_mcp.codex.silent_server import end_codex_of
from codex_mcp.state.contract import Claim, Fenced, LeaseLost, Store, Unavailable
from codex_mcp.state.keeper import Keeper
from codex_mcp.team.agent import Holder, Owner, abandoned
from codex_mcp.team.records.agent_store import APPROVAL, read_agent, read_question_keys, write_agent
from codex_mcp.team.records.audit import Audit
from codex_mcp.team.records.record_writer import RecordWriter
from codex_mcp.team.records.registry import RegistryFile
from codex_mcp.team.records.registry_import import import_registry

logger = logging.getLogger(__name__)

OpenStore: TypeAlias = Callable[[], Awaitable[Store]]


class StoreSession:
    """One server's papers."""

    def __init__(self, state_dir: str, open_store: OpenStore) -> None:
        self._state_dir = state_dir
        self._open_store = open_store
        self._opening: asyncio.Task[None] | None = None
        self._tasks = TaskSet()
        self._keeper: Keeper | None = None
        self._store: Store | None = None
        self._writer: RecordWriter | None = None
        self.audit = Audit(state_dir)
        self.owner = Owner(node="", pid=os.getpid(), host=socket.gethostname())
        self.fenced: Callable[[Claim], None] = lambda _: None
        """Told when an agent turns out to be another server's."""
        self.lost: Callable[[], None] = lambda: None
        """Told when all of them are."""
        self.back: Callable[[], None] = lambda: None
        """Told when some of them may be, because we were silent for long."""
        self._watching: asyncio.Task[None] | None = None

    @property
    def store(self) -> Store:
        """What all servers share; only when ready."""
        if self._store is None:
            raise RuntimeError("the store is not open yet")
        return self._store

    @property
    def writer(self) -> RecordWriter:
        """Who writes; only when ready."""
        if self._writer is None:
            raise RuntimeError("the store is not open yet")
        return self._writer

    @property
    def lease(self) -> str:
        """How it stands with our right to write, in one word."""
        return "none" if self._keeper is None else str(self._keeper.phase)

    @property
    def is_open(self) -> bool:
        """It has been needed."""
        return self._writer is not None

    @property
    def trouble(self) -> str | None:
        """Why nothing can be written down, if that is so."""
        opening = self._opening
        if opening is not None and opening.done() and not opening.cancelled() and (why := opening.exception()):
            return str(why)
        return None if self._writer is None else self._writer.trouble

    def open_soon(self) -> None:
        """Begin to open it. A failure is told to the first call that needs it."""
        self._opened()

    async def ready(self) -> None:
        """Wait until it is open. Raises Unavailable."""
        await self._wait_open()
        if self._keeper is not None and not self._keeper.holding:
            # We were silent for long: before anything is done, find out whether our agents are still ours.
            await self._keeper.renew()
            await self._wait_open()
            await self.writer.flush()  # by which we learn of each agent whether it is

    async def _wait_open(self) -> None:
        opening = self._opened()
        if not opening.done():  # which it is for every call but the first
            # Not awaited itself: whoever asks may be cancelled, and the others still wait.
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
                self._store.leases, self._on_lost, on_back=lambda: self.back(), ttl=self._store.bounds.ttl
            )
        await self._join()
        if self._writer is None:
            await import_registry(self._store, self._state_dir)
            self._writer = RecordWriter(self._store, RegistryFile(self._state_dir), lambda claim: self.fenced(claim))
        await self._find_forsaken()
        await self._bury_dead()
        if self._watching is None:
            self._watching = self._tasks.spawn(self._watch(self._store.bounds.ttl), name="looking for dead servers")

    async def _watch(self, ttl: float) -> None:
        """So that agents of a server that dies are soon what they are: stale, and free."""
        while True:
            await asyncio.sleep(ttl / 2)
            with contextlib.suppress(LeaseLost, Unavailable):  # of which whoever keeps the lease hears as well
                await self._bury_dead()

    async def _join(self) -> None:
        assert self._keeper is not None
        node = await self._keeper.join()
        self.owner = Owner(node.id, node.pid, node.host)

    def _on_lost(self) -> None:
        logger.error("another server has taken over the agents of this one, which was silent for too long")
        self.lost()
        self._opening = self._tasks.spawn(self._open(), name="joining again")

    async def _bury_dead(self) -> None:
        """Say of the agents of servers that are gone that they are stale, and free their names."""
        dead = [node for node in await self.store.leases.nodes() if not node.alive]
        for node in dead:
            logger.info("server %s (process %d on %s) is gone", node.id, node.pid, node.host)
            for claim in await self.store.leases.take(node.id):
                await self._mark_stale(claim)
        if dead or self._watching is None:
            await self.writer.flush()

    async def _find_forsaken(self) -> None:
        """Whoever was to say of an agent that it is stale may have died on the way."""
        for agent in await self.writer.agents():
            if agent.is_active and await self.store.leases.owner(agent.codex_id) is None:
                claim = await self.store.leases.claim(agent.codex_id)
                if isinstance(claim, Claim):
                    await self._mark_stale(claim)

    async def _mark_stale(self, claim: Claim) -> None:
        agent = await read_agent(self.store, claim.thread)
        try:
            if agent is not None:
                if agent.is_active:
                    await write_agent(self.store, claim, abandoned(agent))
                await self.store.records.unbind(claim, agent.team, agent.identity)
            for key in await read_question_keys(self.store, claim.thread):  # nobody waits for the answer any longer
                await self.store.records.delete(claim, APPROVAL, key)
            await self.store.leases.release(claim)
        except Fenced:
            return  # somebody was faster

    async def end_silent(self, holder: Holder, thread_id: str) -> bool:
        """End the Codex that has a thread of ours open, if its server has lost its lease and has not come back."""
        where = (holder.server, holder.host)
        nodes = await self.store.leases.nodes()
        if holder.host != self.owner.host or any(node.alive and (node.pid, node.host) == where for node in nodes):
            return False
        ended = await asyncio.to_thread(end_codex_of, holder.server, holder.mark)
        if ended:
            logger.warning(
                "ended the Codex of server process %d, which has been silent for too long: it had thread %s open",
                holder.server,
                thread_id,
            )
        return ended > 0

    async def aclose(self) -> None:
        """Write what is left, leave, close."""
        await self._tasks.aclose()
        if self._writer is not None:
            await self._writer.aclose()
        if self._keeper is not None:
            await self._keeper.aclose()
        if self._store is not None:
            await self._store.aclose()
        await asyncio.to_thread(self.audit.close)
