"""All agents and questions of a state folder, as one person may see them: followed at every living server while
somebody looks, and read from the registry where no server says more.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
from collections.abc import Mapping, Sequence
from typing import Final

import msgspec
from msgspec import Raw, Struct

from codex_mcp.base.blocking import in_thread
from codex_mcp.base.futures import Waiter, Waiters
from codex_mcp.base.tasks import TaskSet
from codex_mcp.control.asked import Asked
from codex_mcp.control.failures import CannotReach, Why
from codex_mcp.control.server import Caller, Server, connected, living_nodes
from codex_mcp.dashboard.views.facts import AgentFacts, FleetFacts, Silent, agent_facts
from codex_mcp.rpc.errors import RequestFailed
from codex_mcp.team.agent import Agent, with_living_owner
from codex_mcp.team.records import registry
from codex_mcp.team.records.registry import read_registry
from codex_mcp.team.records.registry_text import entry_text
from codex_mcp.wire import control
from codex_mcp.wire.jsonrpc import Notification

LOOK_EVERY: Final = 2.0
"""Seconds between two looks for servers, also for those that did not answer, and into the registry."""

MOST_ANSWERED: Final = 100

UNUSED: Final = 30.0
"""Seconds after which servers are not followed any more. A page that is open asks every few seconds."""

PROGRAM: Final = "dashboard"
"""By this name servers know that an answer was given on a page."""


class _Told(Struct, frozen=True):
    kind: str
    data: Raw


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
        self._followed: dict[str, _Followed] = {}
        self._records: list[Agent] = []
        self._stamp: tuple[int, ...] | None = None
        self._answered: dict[str, Asked] = {}
        self._waiters = Waiters()
        self._ready = asyncio.Event()
        self._tasks = TaskSet()
        self._used_at = 0.0

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
        await self._tasks.aclose()

    def watch(self, waiter: Waiter) -> None:
        """Resolve this future at the next change."""
        self._waiters.add(waiter)

    def changed(self) -> None:
        self._waiters.tell()

    def facts(self) -> FleetFacts:
        self._used_at = asyncio.get_running_loop().time()
        living = {node: each for node, each in self._followed.items() if not each.has_ended}
        rows = {agent.codex_id: agent for agent in self._recorded(living)}
        for each in living.values():
            rows |= each.agents
        asked = [asked for each in living.values() for asked in each.asked.values()]
        silent = [Silent(node, each.trouble) for node, each in living.items() if each.trouble]
        agents = sorted(rows.values(), key=lambda agent: (agent.team, agent.identity, agent.codex_id))
        teams = sorted({each.team for each in living.values() if each.team} or {agent.team for agent in agents})
        answered = sorted(self._answered.values(), key=_answered_at, reverse=True)
        asked.sort(key=lambda each: each.question.asked_at)
        return FleetFacts(agents, asked, answered, silent, len(living), teams)

    def _recorded(self, living: Mapping[str, _Followed]) -> list[AgentFacts]:
        principal = self._caller.principal
        mine = [each for each in self._records if principal in (None, each.principal)]
        now = [with_living_owner(each, living) for each in mine]
        # A server that is followed says itself what it runs; its records may be older.
        followed = {node for node, each in living.items() if each.is_followed}
        known = [each for each in now if each.owner is None or each.owner.node not in followed]
        rows = (agent_facts(msgspec.json.decode(entry_text(each))) for each in known)
        return [row for row in rows if row is not None]

    async def _look(self) -> None:
        while True:
            nodes = await in_thread(living_nodes, self._state_dir)
            for node in [each for each in self._followed if each not in nodes]:
                del self._followed[node]
                self.changed()
            await self._read_registry()
            begun = [self._follow(node) for node in nodes if self._is_to_follow(node)]
            await asyncio.gather(*(each.first.wait() for each in begun))
            self._ready.set()
            await asyncio.sleep(LOOK_EVERY)

    def _is_to_follow(self, node: str) -> bool:
        return node not in self._followed or self._followed[node].is_over

    def _follow(self, node: str) -> _Followed:
        before = self._followed.get(node)
        pid = next((each.owner.pid for each in self._records if each.owner and each.owner.node == node), None)
        name = f"server {node}" if pid is None else f"server process {pid}"
        followed = self._followed[node] = _Followed(self, (self._state_dir, node), name, before)
        self._tasks.spawn(followed.run(self._caller), name=f"dashboard of {node}")
        return followed

    async def _read_registry(self) -> None:
        path = os.path.join(self._state_dir, registry.FILE)
        with contextlib.suppress(OSError):
            stamp = await in_thread(_stamp, path)
            if stamp != self._stamp:
                self._records = await in_thread(read_registry, path)
                self._stamp = stamp
                self.changed()

    def closed(self, asked: Asked) -> None:
        """A question has ended."""
        self._answered[asked.question.id] = asked
        while len(self._answered) > MOST_ANSWERED:
            self._answered.pop(next(iter(self._answered)))


class _Followed:
    """One server."""

    def __init__(self, fleet: Fleet, where: tuple[str, str], name: str, before: _Followed | None) -> None:
        """`where` is its state folder and its node; `name` is how a person knows it."""
        self._fleet = fleet
        self._state_dir, self._node = where
        self._name = name
        self.team: str = before.team if before is not None else ""
        self.agents: dict[str, AgentFacts] = before.agents if before is not None else {}
        self.asked: dict[str, Asked] = {}
        self.trouble: str = before.trouble if before is not None else ""
        """Why it cannot be reached."""
        self.is_followed = False
        self.is_over = False
        self.has_ended = False
        self.first = asyncio.Event()
        """It was reached, or could not be."""

    async def run(self, caller: Caller) -> None:
        try:
            await self._run(caller)
        except CannotReach as exc:
            self.has_ended = exc.why is Why.ENDED
            self.trouble = str(exc)
        except RequestFailed as exc:
            self.trouble = f"{self._name} refused: {exc}"
        finally:
            self.is_over, self.is_followed = True, False
            self.first.set()
            self._fleet.changed()

    async def _run(self, caller: Caller) -> None:
        async with connected(self._state_dir, self._node, caller, name=self._name, told=self._told) as (server, hello):
            self._name, self.team = f"server process {hello.pid}", hello.team
            followed = await _followed(server)
            self.agents = _by_id(followed.agents)
            for question in followed.questions:
                self.asked[question.id] = self._asked(question)
            for question in followed.answered:
                self._fleet.closed(self._asked(question))
            self.trouble, self.is_followed = "", True
            self.first.set()
            self._fleet.changed()
            raise await server.until_lost()

    def _asked(self, question: control.Question) -> Asked:
        return Asked(question, self._node, self._name)

    def _told(self, message: Notification) -> None:
        if message.method != control.EVENT:
            return
        try:
            told = msgspec.json.decode(message.params, type=_Told)
            if told.kind in (control.OPENED, control.CLOSED):
                self._question_told(msgspec.json.decode(told.data, type=control.Question))
            elif told.kind == control.AGENT:
                self._agent_told(msgspec.json.decode(told.data, type=dict[str, object]))
        except msgspec.MsgspecError:
            return  # an event of a later version
        self._fleet.changed()

    def _question_told(self, question: control.Question) -> None:
        if question.receipt is None:
            self.asked[question.id] = self._asked(question)
        else:
            self.asked.pop(question.id, None)
            self._fleet.closed(self._asked(question))

    def _agent_told(self, row: Mapping[str, object]) -> None:
        if row.get("is_here") is False:
            self.agents.pop(str(row.get("codex_id")), None)
        elif (agent := agent_facts(row)) is not None:
            self.agents[agent.codex_id] = agent


async def _followed(server: Server) -> control.Followed:
    """Follow everything; a server of an earlier version knows questions only. Raises RequestFailed, CannotReach."""
    try:
        return await server.follow([control.AGENTS, control.QUESTIONS])
    except RequestFailed:
        return await server.follow([control.QUESTIONS])


def _by_id(rows: Sequence[Mapping[str, object]]) -> dict[str, AgentFacts]:
    found = (agent_facts(row) for row in rows)
    return {agent.codex_id: agent for agent in found if agent is not None}


def _answered_at(asked: Asked) -> float:
    return 0.0 if asked.question.receipt is None else asked.question.receipt.at


def _stamp(path: str) -> tuple[int, ...]:
    found = os.stat(path)
    return found.st_mtime_ns, found.st_size, found.st_ino
