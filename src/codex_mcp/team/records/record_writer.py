"""Writes down what changes: each agent's record and journal into the store, and the picture of all into the registry.

Changes that come while something is being written are written together afterwards, each agent once and as it is then.
So nobody waits for a disk but who wants to be sure (`flush`), and what waits is never more than one record an agent.
After each writing there is a short pause, unless somebody is in a hurry: a turn changes its agent's state twice.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import Callable
from typing import Final

import msgspec

from codex_mcp.base.tasks import TaskSet
from codex_mcp.state.contract import Claim, Fenced, LeaseLost, Store, Unavailable
from codex_mcp.team.agent import Agent
from codex_mcp.team.member import Member
from codex_mcp.team.records.agent_store import (
    AGENT,
    ANSWER,
    APPROVAL,
    EVENTS,
    read_agents,
    read_question_keys,
    write_agent,
)
from codex_mcp.team.records.registry import RegistryFile
from codex_mcp.team.requests import answer_key, encode_answer

logger = logging.getLogger(__name__)

PAUSE: Final = 0.1
"""Seconds between two writings that nobody waits for. Long beside a writing, short beside a person who looks."""

RETRY: Final = 2.0
"""Seconds after a failed writing until the next one, should nobody ask for it: a full disk may have room by then."""

EVENTS_WAITING: Final = 1_000
"""Journal entries that wait to be written, of all agents; a store that is so far behind loses the newest."""


class RecordWriter:
    """Owns the task that writes."""

    def __init__(self, store: Store, registry: RegistryFile, fenced: Callable[[Claim], None]) -> None:
        self._store = store
        self._registry = registry
        self._fenced = fenced
        self._changed: dict[str, Member] = {}
        self._events: list[tuple[Claim, dict[str, object]]] = []
        self._unsettled: dict[str, tuple[Claim, Member]] = {}
        """Agents whose end could not be written. No other can be started meanwhile, so that they are few."""
        self._wanted = asyncio.Event()
        self._hurried = asyncio.Event()
        self._written = 0
        self._asked = 0
        self._progress = asyncio.Condition()
        self._pen = asyncio.Lock()
        """Held by whoever writes into the store."""
        self._tasks = TaskSet()
        self._closed = False
        self.trouble: str | None = None
        """Why the last writing failed, if it did."""
        self._tasks.spawn(self._write_for_ever(), name="writing of the registry")

    def note(self, member: Member, event: dict[str, object] | None = None) -> None:
        """This agent has changed, and this happened to it."""
        if member.claim is None:
            return
        self._changed[member.agent.codex_id] = member
        if event is not None and len(self._events) < EVENTS_WAITING:
            self._events.append((member.claim, event))
        self._want()

    async def flush(self) -> None:
        """Wait until all that is known by now is written, or could not be."""
        if self._closed:
            return
        self.hurry()
        target = self._asked
        async with self._progress:
            await self._progress.wait_for(lambda: self._written >= target)

    def hurry(self) -> None:
        """Write what is known by now without a pause."""
        self._want()
        self._hurried.set()

    async def keep(self, member: Member) -> None:
        """Write an agent's record now; the registry follows. Raises Fenced, LeaseLost, Unavailable."""
        self.note(member)
        if member.claim is not None:
            async with self._pen:
                await self._put(member.claim, member)
            self.hurry()

    async def settle(self, member: Member) -> None:
        """Write an agent's last record, and let go of its name and its claim; later, if that cannot be done now."""
        claim, agent = member.claim, member.record
        self._changed.pop(agent.codex_id, None)
        if claim is None:
            return
        try:
            async with self._pen:
                await self._append_events()
                await self._settle(claim, member)
        except (Fenced, LeaseLost):
            logger.warning("agent %s belongs to another server by now", agent.codex_id)
        except Unavailable as exc:
            self._unsettled[agent.codex_id] = claim, member
            self.trouble = str(exc)
            logger.error("cannot write down the end of agent %s: %s", agent.codex_id, exc)
        member.claim = None
        await self.flush()

    async def _settle(self, claim: Claim, member: Member) -> None:
        agent = member.record
        member.approvals = {}
        await self._put(claim, member)
        await self._store.records.unbind(claim, agent.team, agent.identity)
        await self._store.leases.release(claim)

    async def drop(self, member: Member) -> None:
        """Forget an agent that never came to be."""
        claim, agent = member.claim, member.agent
        self._changed.pop(agent.codex_id, None)
        member.claim = None
        if claim is None:
            return
        try:
            async with self._pen:
                await self._store.records.delete(claim, AGENT, agent.codex_id)
                await self._store.records.unbind(claim, agent.team, agent.identity)
                await self._store.leases.release(claim)
        except (Fenced, LeaseLost, Unavailable) as exc:
            logger.warning("cannot forget agent %s: %s", agent.codex_id, exc)
        self._want()

    async def agents(self) -> list[Agent]:
        """All agents of the state folder, whoever runs them; those whose end could not be written yet, as they are."""
        kept = await read_agents(self._store)
        ended = {codex_id: member.record for codex_id, (_, member) in self._unsettled.items()}
        return [_newer(agent, ended.get(agent.codex_id)) for agent in kept]

    async def aclose(self) -> None:
        """Write what is left, and stop."""
        await self.flush()
        self._closed = True
        await self._tasks.aclose()

    def _want(self) -> None:
        self._asked += 1
        self._wanted.set()

    async def _write_for_ever(self) -> None:
        while True:
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(None if self.trouble is None else RETRY):
                    await self._wanted.wait()
            target = await self._write()
            async with self._progress:
                self._written = target
                self._progress.notify_all()
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(PAUSE):
                    await self._hurried.wait()

    async def _write(self) -> int:
        """Write all that is known; return up to where that is, also if it could not be written."""
        self._wanted.clear()
        self._hurried.clear()
        target = self._asked
        try:
            async with self._pen:
                await self._write_records()
                await self._append_events()
            revision = await asyncio.to_thread(self._registry.next_revision)
            await asyncio.to_thread(self._registry.write, await self.agents(), revision)
            self.trouble = None
        except (Unavailable, OSError) as exc:
            if str(exc) != self.trouble:  # else it was said before
                logger.error("cannot write down the agents: %s", exc)
            self.trouble = str(exc)
        except Exception as exc:  # whatever it is: others wait in flush(), and the next writing may succeed
            trouble = f"{type(exc).__name__}: {exc}"
            if trouble != self.trouble:
                logger.exception("cannot write down the agents")
            self.trouble = trouble
        return target

    async def _write_records(self) -> None:
        for codex_id, (ended_claim, ended) in list(self._unsettled.items()):
            with contextlib.suppress(Fenced, LeaseLost):  # somebody has brought it back
                await self._settle(ended_claim, ended)
            del self._unsettled[codex_id]
        while self._changed:
            codex_id, member = next(iter(self._changed.items()))
            claim, agent, asked = member.claim, member.record, member.approvals
            if claim is not None:
                try:
                    await self._put(claim, member)
                except (Fenced, LeaseLost):
                    self._fenced(claim)
            if (member.record, member.approvals, member.answers) == (
                agent,
                asked,
                {},
            ):  # else it has changed, and is written again
                self._changed.pop(codex_id, None)

    async def _put(self, claim: Claim, member: Member) -> None:
        """Write its record, and what it asks."""
        records, agent, asked = self._store.records, member.record, member.approvals
        await write_agent(self._store, claim, agent)
        written = member.approvals_written
        if written is None:
            written = await read_question_keys(self._store, agent.codex_id)
        for key in asked.keys() - written:
            await records.put(claim, APPROVAL, key, asked[key])
        for key in written - asked.keys():
            await records.delete(claim, APPROVAL, key)
        member.approvals_written = set(asked)
        for request_id, outcome in list(member.answers.items()):
            key = answer_key(agent.codex_id, request_id)
            if outcome is None:
                await records.delete(claim, ANSWER, key)
            else:
                await records.put(claim, ANSWER, key, await asyncio.to_thread(encode_answer, outcome))
            member.answers.pop(request_id, None)

    async def _append_events(self) -> None:
        events, self._events = self._events, []
        by_claim: dict[Claim, list[bytes]] = {}
        for claim, event in events:
            by_claim.setdefault(claim, []).append(msgspec.json.encode(event))
        for claim, chunks in by_claim.items():
            try:
                at = await self._store.journal.head(claim.thread, EVENTS)
                await self._store.journal.append(claim, EVENTS, at, chunks)
            except (Fenced, LeaseLost):
                self._fenced(claim)


def _newer(kept: Agent, ended: Agent | None) -> Agent:
    """An agent as it is known best; another server may have brought back one whose end we could not write."""
    return kept if ended is None or kept.last_active > ended.last_active else ended
