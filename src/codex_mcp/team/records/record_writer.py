"""Writes what changes about this server's agents: records and journals into the store, all records into the registry.

Changes that come during a write are written together afterwards, each agent once and as it is then. So only callers
that need to be sure (`flush`) wait for a disk, and at most one record per agent waits. A short pause precedes each
write, unless `hurry` asks for it: a turn changes the state of its agent twice, and a short one is written once.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import Callable
from typing import Final

import msgspec

from codex_mcp.base.blocking import in_thread
from codex_mcp.base.tasks import TaskSet
from codex_mcp.state.contract import Claim, Fenced, LeaseLost, Store, Unavailable
from codex_mcp.team.agent import Agent
from codex_mcp.team.records.agent_store import (
    EVENTS,
    delete_agent,
    encode_answer,
    finish_agent,
    read_agents,
    write_agent,
    write_answer,
    write_questions,
)
from codex_mcp.team.records.registry import RegistryFile
from codex_mcp.team.roster import Member

logger = logging.getLogger(__name__)

PAUSE: Final = 0.1
"""Seconds until a write that no caller waits for. Long for a write, short for a person."""

RETRY: Final = 2.0
"""Seconds after a failed write until the next attempt, if no caller asks for one: a full disk may have room by then."""

EVENTS_WAITING: Final = 1_000
"""Journal entries of all agents that may wait to be written; if the store falls further behind, new ones are lost."""


class RecordWriter:
    """Owns the task that writes. `fenced` is told of an agent that another server has claimed."""

    def __init__(self, store: Store, registry: RegistryFile, fenced: Callable[[Claim], None]) -> None:
        self._store = store
        self._registry = registry
        self._fenced = fenced
        self._changed: dict[str, Member] = {}
        self._events: list[tuple[Claim, dict[str, object]]] = []
        self._unfinished: dict[str, tuple[Claim, Member]] = {}
        """Agents whose final record could not be written. They are few: no agent can be started meanwhile."""
        self._wanted = asyncio.Event()
        self._hurried = asyncio.Event()
        self._written = 0
        self._asked = 0
        self._progress = asyncio.Condition()
        self._writing = asyncio.Lock()
        self._tasks = TaskSet()
        self._closed = False
        self.trouble: str | None = None
        self._tasks.spawn(self._keep_writing(), name="writing of the registry")

    def note(self, member: Member, event: dict[str, object] | None = None) -> None:
        """Write this agent's record soon, and this event into its journal."""
        if member.claim is None:
            return
        self._changed[member.agent.codex_id] = member
        if event is not None and len(self._events) < EVENTS_WAITING:
            self._events.append((member.claim, event))
        self._want()

    async def flush(self) -> None:
        """Wait until everything noted so far is written, or has failed to be."""
        if self._closed:
            return
        self.hurry()
        target = self._asked
        async with self._progress:
            await self._progress.wait_for(lambda: self._written >= target)

    async def keep(self) -> None:
        """Put the records and journal entries noted so far into the store; the registry follows.

        A store that has failed is not waited for: the task tries again.
        """
        if self.trouble is None and (self._changed or self._events or self._writing.locked()):
            try:
                async with self._writing:
                    await self._write_records()
                    await self._append_events()
            except Unavailable as exc:
                logger.warning("cannot write the agents' records before an answer: %s", exc)
                self._want()

    def hurry(self) -> None:
        """Write everything noted so far without a pause."""
        self._want()
        self._hurried.set()

    async def write(self, member: Member) -> None:
        """Write an agent's record now; the registry follows. Raises Fenced, LeaseLost, Unavailable."""
        self.note(member)
        if member.claim is not None:
            async with self._writing:
                await self._write_member(member.claim, member, member.record)
            self.hurry()

    async def finish(self, member: Member) -> None:
        """Write the final record, free the identity, release the claim; later, if the store is unavailable."""
        claim, codex_id = member.claim, member.agent.codex_id
        self._changed.pop(codex_id, None)
        if claim is None:
            return
        try:
            async with self._writing:
                await self._append_events()
                await self._finish(claim, member)
        except (Fenced, LeaseLost):
            logger.warning("agent %s belongs to another server by now", codex_id)
        except Unavailable as exc:
            self._unfinished[codex_id] = claim, member
            self.trouble = str(exc)
            logger.error("cannot write the final record of agent %s: %s", codex_id, exc)
        member.give_up_claim()
        await self.flush()

    async def _finish(self, claim: Claim, member: Member) -> None:
        await self._write_answers(claim, member)
        await finish_agent(self._store, claim, member.record)

    async def drop(self, member: Member) -> None:
        claim, agent = member.give_up_claim(), member.agent
        self._changed.pop(agent.codex_id, None)
        if claim is None:
            return
        try:
            async with self._writing:
                await delete_agent(self._store, claim, agent)
        except (Fenced, LeaseLost, Unavailable) as exc:
            logger.warning("cannot delete agent %s: %s", agent.codex_id, exc)
        await self.flush()  # the caller that is refused must not find the agent in the registry

    async def agents(self) -> list[Agent]:
        """All agents of the state folder. Final records that could not be written yet count as written."""
        stored = await read_agents(self._store)
        final = {codex_id: member.record for codex_id, (_, member) in self._unfinished.items()}
        return [_newer(agent, final.get(agent.codex_id)) for agent in stored]

    async def aclose(self) -> None:
        await self.flush()
        self._closed = True
        await self._tasks.aclose()

    def _want(self) -> None:
        self._asked += 1
        self._wanted.set()

    async def _keep_writing(self) -> None:
        while True:
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(None if self.trouble is None else RETRY):
                    await self._wanted.wait()
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(PAUSE):
                    await self._hurried.wait()
            target = await self._write_all()
            async with self._progress:
                self._written = target
                self._progress.notify_all()

    async def _write_all(self) -> int:
        """Write everything noted so far. Returns how much that was, even if the write failed."""
        self._wanted.clear()
        self._hurried.clear()
        target = self._asked
        try:
            async with self._writing:
                await self._write_records()
                await self._append_events()
            revision = await in_thread(self._registry.next_revision)
            await in_thread(self._registry.write, await self.agents(), revision)
            self.trouble = None
        except (Unavailable, OSError) as exc:
            if str(exc) != self.trouble:  # else it was logged before
                logger.error("cannot write the agents' records: %s", exc)
            self.trouble = str(exc)
        except Exception as exc:  # whatever it is: callers wait in flush(), and the next write may succeed
            trouble = f"{type(exc).__name__}: {exc}"
            if trouble != self.trouble:
                logger.exception("cannot write the agents' records")
            self.trouble = trouble
        return target

    async def _write_records(self) -> None:
        for codex_id, (ended_claim, ended) in list(self._unfinished.items()):
            with contextlib.suppress(Fenced, LeaseLost):  # another server has resumed it
                await self._finish(ended_claim, ended)
            del self._unfinished[codex_id]
        while self._changed:
            codex_id, member = next(iter(self._changed.items()))
            claim, record, questions = member.claim, member.record, member.questions.now
            if claim is not None:
                try:
                    await self._write_member(claim, member, record)
                except (Fenced, LeaseLost):
                    self._fenced(claim)
            is_written = (member.record, member.questions.now) == (record, questions)
            if is_written and not member.requested.answers:  # else it is written again
                self._changed.pop(codex_id, None)

    async def _write_member(self, claim: Claim, member: Member, record: Agent) -> None:
        await write_agent(self._store, claim, record, self._taken_events(claim))
        questions = member.questions.now
        await write_questions(self._store, claim, questions, member.questions.written)
        member.questions.were_written(questions)
        await self._write_answers(claim, member)

    async def _write_answers(self, claim: Claim, member: Member) -> None:
        for request_id, outcome in list(member.requested.answers.items()):
            body = None if outcome is None else await in_thread(encode_answer, outcome)
            await write_answer(self._store, claim, request_id, body)
            member.requested.answer_was_written(request_id)

    async def _append_events(self) -> None:
        for claim in dict.fromkeys(claim for claim, _ in self._events):
            try:
                await self._store.journal.append(claim, EVENTS, self._taken_events(claim))
            except (Fenced, LeaseLost):
                self._fenced(claim)

    def _taken_events(self, claim: Claim) -> list[bytes]:
        taken = [msgspec.json.encode(event) for of, event in self._events if of == claim]
        self._events = [(of, event) for of, event in self._events if of != claim]
        return taken


def _newer(stored: Agent, final: Agent | None) -> Agent:
    """The later of two records: another server may have resumed an agent whose final record we could not write."""
    return stored if final is None or stored.last_active > final.last_active else final
