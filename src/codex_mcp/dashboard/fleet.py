"""All agents and questions of a state folder, as one person may see them: followed at every living server while
somebody looks, and read from the registry where no server says more.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
from collections.abc import Callable, Mapping
from typing import Final, TypeAlias

import msgspec
from msgspec import Raw

from codex_mcp.base.blocking import in_thread
from codex_mcp.base.futures import Waiter, Waiters
from codex_mcp.base.tasks import TaskSet
from codex_mcp.control.asked import Asked
from codex_mcp.control.server import Caller, Server, living_nodes
from codex_mcp.dashboard.followed import ROWS, Followed
from codex_mcp.dashboard.views.facts import (
    AgentFacts,
    EnvironmentFacts,
    FleetFacts,
    ServerFacts,
    Silent,
    agent_facts,
    facts_in,
    letters_in,
)
from codex_mcp.team.agent import Agent, with_living_owner
from codex_mcp.team.records import audit, registry
from codex_mcp.team.records.audit import newest_entries
from codex_mcp.team.records.audit_entry import AuditEntry
from codex_mcp.team.records.registry import read_registry
from codex_mcp.team.records.registry_text import entry_text
from codex_mcp.wire import control

LOOK_EVERY: Final = 2.0
"""Seconds between two looks for servers, also for those that did not answer, and into the registry."""

MOST_ANSWERED: Final = 100

MOST_ENTRIES: Final = 2000
"""Of the audit: enough for an hour of a busy team."""

UNUSED: Final = 30.0
"""Seconds after which servers are not followed any more. A page that is open asks every few seconds."""

PROGRAM: Final = "dashboard"
"""By this name servers know that an answer was given on a page."""


Listener: TypeAlias = Callable[[str, Raw], None]
"""Called with the kind of event, and what is told."""


class Fleets:
    """One for each principal whose pages are looked at; one that nobody looks at any more is closed."""

    def __init__(self, state_dir: str) -> None:
        self._state_dir = state_dir
        self._fleets: dict[str | None, Fleet] = {}
        self._tasks = TaskSet()

    async def of(self, principal: str | None) -> Fleet:
        """What this principal may see, or, without one, everything."""
        if not self._fleets:
            self._tasks.spawn(self._close_unused(), name="unused dashboards")
        if principal not in self._fleets:
            caller = Caller(program=PROGRAM, person="", principal=principal, view=True)
            self._fleets[principal] = Fleet(self._state_dir, caller)
            self._fleets[principal].begin()
        fleet = self._fleets[principal]
        await fleet.ready()
        return fleet

    async def aclose(self) -> None:
        await self._tasks.aclose()
        for fleet in self._fleets.values():
            await fleet.aclose()
        self._fleets.clear()

    async def _close_unused(self) -> None:
        loop = asyncio.get_running_loop()
        while self._fleets:
            await asyncio.sleep(UNUSED)
            for principal, fleet in list(self._fleets.items()):
                if loop.time() - fleet.used_at >= UNUSED:
                    del self._fleets[principal]
                    await fleet.aclose()


class Fleet:
    """Follows from `begin` to `aclose`."""

    def __init__(self, state_dir: str, caller: Caller) -> None:
        self._state_dir = state_dir
        self._caller = caller
        self._followed: dict[str, Followed] = {}
        self._records: list[Agent] = []
        self._stamp: tuple[int, ...] | None = None
        self._answered: dict[str, Asked] = {}
        self._audit: list[AuditEntry] = []
        self._audit_stamp: tuple[int, ...] | None = None
        self._waiters = Waiters()
        self._ready = asyncio.Event()
        self._looking = asyncio.Lock()
        self._tasks = TaskSet()
        self._used_at = 0.0
        self._listeners: dict[str, Listener] = {}
        self._is_closed = False

    @property
    def used_at(self) -> float:
        """When somebody has asked for its facts last, by the clock of the event loop."""
        return self._used_at

    def begin(self) -> None:
        self._used_at = asyncio.get_running_loop().time()
        self._tasks.spawn(self._look(), name="servers of the dashboard")

    async def ready(self) -> None:
        """Wait until every server has said what it runs, or was given up."""
        await self._ready.wait()

    async def aclose(self) -> None:
        self._is_closed = True
        await self._tasks.aclose()

    def watch(self, waiter: Waiter) -> None:
        """Resolve this future at the next change."""
        self._waiters.add(waiter)

    def changed(self) -> None:
        self._waiters.tell()

    @property
    def state_dir(self) -> str:
        return self._state_dir

    @property
    def principal(self) -> str | None:
        """Whose agents it has; None is everybody's."""
        return self._caller.principal

    @property
    def is_closed(self) -> bool:
        return self._is_closed

    def servers(self) -> dict[str, Server]:
        """Those that are followed, by node."""
        return {node: each.server for node, each in self._followed.items() if each.server is not None}

    def greetings(self) -> list[control.Greeting]:
        """What those that are followed have said about themselves."""
        return [each.greeting for each in self._followed.values() if each.is_followed and each.greeting is not None]

    def listen(self, topic: str, listener: Listener | None) -> None:
        """Tell this one what servers tell of a thread, which somebody else follows; None ends it."""
        if listener is None:
            self._listeners.pop(topic, None)
        else:
            self._listeners[topic] = listener

    def thread_told(self, topic: str, kind: str, data: Raw) -> None:
        if topic in self._listeners:
            self._listeners[topic](kind, data)
            self.changed()

    def left_out(self) -> None:
        """A server has left something out that it would have told."""
        for listener in self._listeners.values():
            listener(control.RESYNC, Raw(b"{}"))

    def facts(self) -> FleetFacts:
        self._used_at = asyncio.get_running_loop().time()
        living = {node: each for node, each in self._followed.items() if not each.has_ended}
        rows = {agent.codex_id: agent for agent in self._recorded(living)}
        for each in living.values():
            rows = each.left | rows | each.agents
        asked = [asked for each in living.values() for asked in each.asked.values()]
        agents = sorted(rows.values(), key=lambda agent: (agent.team, agent.identity, agent.codex_id))
        teams = sorted({each.team for each in living.values() if each.team} or {agent.team for agent in agents})
        answered = sorted(self._answered.values(), key=_answered_at, reverse=True)
        asked.sort(key=lambda each: each.question.asked_at)
        mine = living
        if self._caller.principal is not None:  # servers on which it has nothing are nothing to it
            nodes = {each.node for each in agents} | {each.node for each in asked}
            mine = {node: each for node, each in living.items() if node in nodes}
        silent = [Silent(node, each.trouble, each.since) for node, each in mine.items() if each.trouble]
        told = {topic: [row for each in mine.values() for row in each.rows[topic].values()] for topic in ROWS}
        letters = [row for each in living.values() for row in each.rows[control.MAIL].values()]
        return FleetFacts(
            agents,
            asked,
            answered,
            silent,
            len(mine) or min(1, len(living)),
            teams,
            letters=letters_in(letters),
            environments=facts_in(told[control.ENVIRONMENTS], EnvironmentFacts),
            health=facts_in(told[control.HEALTH], ServerFacts),
            audit=self._audit,
        )

    def _recorded(self, living: Mapping[str, Followed]) -> list[AgentFacts]:
        principal = self._caller.principal
        mine = [each for each in self._records if principal in (None, each.principal)]
        now = [with_living_owner(each, living) for each in mine]
        # A server that is followed says itself what it runs; its records may be older.
        followed = {node for node, each in living.items() if each.is_followed}
        known = [each for each in now if each.owner is None or each.owner.node not in followed]
        rows = (agent_facts(msgspec.json.decode(entry_text(each))) for each in known)
        return [row for row in rows if row is not None]

    async def look_again(self) -> bool:
        """Ask every server now what it runs. Whether each of those that live has said it."""
        async with self._looking:
            await asyncio.gather(self._look_around(), *(each.take_again() for each in self._followed.values()))
            return all(each.is_followed for each in self._followed.values())

    async def _look_around(self) -> None:
        """Find servers and records that have come or gone."""
        nodes = await in_thread(living_nodes, self._state_dir)
        for node in [each for each in self._followed if each not in nodes]:
            self._followed.pop(node).lose_questions()
            self.changed()
        await self._read_registry()
        await self._read_audit()
        begun = [self._follow(node) for node in nodes if self._is_to_follow(node)]
        await asyncio.gather(*(each.first.wait() for each in begun))

    async def _look(self) -> None:
        while True:
            async with self._looking:
                await self._look_around()
            self._ready.set()
            await asyncio.sleep(LOOK_EVERY)

    async def _read_audit(self) -> None:
        with contextlib.suppress(OSError):
            stamp = await in_thread(_stamp, os.path.join(self._state_dir, audit.FILE))
            if stamp != self._audit_stamp:
                self._audit = await in_thread(_latest, self._state_dir, self._caller.principal)
                self._audit_stamp = stamp
                self.changed()

    def _is_to_follow(self, node: str) -> bool:
        return node not in self._followed or self._followed[node].is_over

    def _follow(self, node: str) -> Followed:
        before = self._followed.get(node)
        pid = next((each.owner.pid for each in self._records if each.owner and each.owner.node == node), None)
        name = f"server {node}" if pid is None else f"server process {pid}"
        followed = self._followed[node] = Followed(self, (self._state_dir, node), name, before)
        self._tasks.spawn(followed.run(self._caller), name=f"dashboard of {node}")
        return followed

    async def _read_registry(self) -> None:
        path = os.path.join(self._state_dir, registry.FILE)
        with contextlib.suppress(OSError):
            stamp = await in_thread(_stamp, path)
            if stamp != self._stamp:
                self._records = await in_thread(read_registry, path)
                for each in self._followed.values():
                    each.left.clear()
                self._stamp = stamp
                self.changed()

    def told(self, asked: Asked) -> None:
        """A server has said this of a question, to somebody who asked; whoever follows it is told a moment later."""
        if asked.question.receipt is not None and (followed := self._followed.get(asked.node)) is not None:
            followed.question_told(asked.question)
            self.changed()

    def closed(self, asked: Asked) -> None:
        """A question has ended."""
        self._answered[asked.question.id] = asked
        while len(self._answered) > MOST_ANSWERED:
            self._answered.pop(next(iter(self._answered)))


def _latest(state_dir: str, principal: str | None) -> list[AuditEntry]:
    """The end of the audit; of a principal, its own."""
    return newest_entries(state_dir, lambda entry: principal in (None, entry.principal), MOST_ENTRIES, only_end=True)


def _answered_at(asked: Asked) -> float:
    return 0.0 if asked.question.receipt is None else asked.question.receipt.at


def _stamp(path: str) -> tuple[int, ...]:
    found = os.stat(path)
    return found.st_mtime_ns, found.st_size, found.st_ino
