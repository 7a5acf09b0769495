"""What is known of the threads whose pages are open: asked of their servers, or read from their rollout files."""

from __future__ import annotations

import asyncio
import contextlib
from typing import Final

import msgspec
from msgspec import Raw

from codex_mcp.base.blocking import in_thread
from codex_mcp.base.printable import foreign
from codex_mcp.base.tasks import TaskSet
from codex_mcp.control.failures import CannotReach
from codex_mcp.control.server import Server
from codex_mcp.dashboard.fleet import Fleet
from codex_mcp.dashboard.thread.rollout import steps_on_disk
from codex_mcp.dashboard.thread.transcript import Told, happened
from codex_mcp.dashboard.views.facts import AgentFacts
from codex_mcp.rpc.errors import INVALID, RequestFailed
from codex_mcp.wire import control
from codex_mcp.wire.control_thread import ListSteps, Steps

STEPS: Final = 200
"""Of the open turn that are asked for."""

UNUSED: Final = 60.0
"""Seconds after which a thread is not followed any longer."""

MOST: Final = 32
"""Threads that are followed for one principal. A connection follows at most 64 topics."""

MOST_BUFFERED: Final = 5000

HAS_ENDED: Final = -2
"""In place of how many prompts wait, when a turn has ended."""

NOTHING: Final = Steps(thread="")

NO_FILE: Final = "Its conversation is not on this machine, or is of a Codex that writes it in another way."
NOT_REACHED: Final = "Its server does not answer at the moment, and its conversation cannot be read here without it."
NOT_STARTED: Final = "It has no conversation yet."


class Conversations:
    """Of all principals."""

    def __init__(self, codex_home: str) -> None:
        self._home = codex_home
        self._known: dict[tuple[Fleet, str], Conversation] = {}

    async def of(self, fleet: Fleet, agent: AgentFacts | None, thread: str) -> Conversation:
        """The conversation of an agent, or of the thread with this id; as it is now."""
        now = asyncio.get_running_loop().time()
        await self._sweep(now)
        name = agent.codex_id if agent is not None else thread
        key = fleet, name
        if key not in self._known:
            self._known[key] = Conversation(fleet, name, self._home)
        found = self._known[key]
        found.touch(now)
        await found.update(agent)
        return found

    def known(self, fleet: Fleet, agent: AgentFacts | None, thread: str) -> Conversation | None:
        """The same as far as it is known already; None if it was not asked for."""
        found = self._known.get((fleet, agent.codex_id if agent is not None else thread))
        if found is not None:
            found.touch(asyncio.get_running_loop().time())
        return found

    async def _sweep(self, now: float) -> None:
        old = [key for key, each in self._known.items() if each.is_unused(now)]
        kept = [key for key in self._known if key not in old]
        for key in (*old, *kept[: max(0, len(kept) - MOST + 1)]):
            await self._known.pop(key).aclose()

    async def aclose(self) -> None:
        for each in self._known.values():
            await each.aclose()
        self._known.clear()


class Conversation:
    """One thread."""

    def __init__(self, fleet: Fleet, name: str, codex_home: str) -> None:
        """`name` is the codex_id of its agent, or the id of the thread."""
        self._fleet = fleet
        self.name = name
        self._home = codex_home
        self.known: Steps = NOTHING
        self.trouble = ""
        """Why it cannot be shown."""
        self._server: Server | None = None
        self._told: list[Told] | None = None
        """What was told since the snapshot was asked for."""
        self._thread_id = ""
        self._waiting = -1
        self._used_at = 0.0
        self._one_at_a_time = asyncio.Lock()
        self._tasks = TaskSet()
        self._reloading: asyncio.Task[None] | None = None

    @property
    def is_live(self) -> bool:
        """A server tells what happens."""
        return self._server is not None

    @property
    def _topic(self) -> str:
        return control.THREAD + self.name

    def touch(self, now: float) -> None:
        self._used_at = now

    def is_unused(self, now: float) -> bool:
        return self._fleet.is_closed or now - self._used_at > UNUSED

    def changed(self) -> None:
        """What pages show of it has changed."""
        self._fleet.changed()

    def expire(self) -> None:
        """It has changed: what is known of it is asked for again."""
        self._waiting = HAS_ENDED

    def look(self, agent: AgentFacts | None) -> None:
        """A page that is open looks at it: what has become of it is asked for, if need be."""
        self._used_at = asyncio.get_running_loop().time()
        is_other = self._server_of(agent) is not self._server or self._waiting == HAS_ENDED
        if (is_other or (agent is not None and agent.waiting != self._waiting)) and (
            self._reloading is None or self._reloading.done()
        ):
            self._reload(agent)

    def _reload(self, agent: AgentFacts | None) -> None:
        self._reloading = self._tasks.spawn(self.update(agent, again=True), name=f"transcript of {self.name}")

    async def update(self, agent: AgentFacts | None, *, again: bool = False) -> None:
        async with self._one_at_a_time:
            waiting = agent.waiting if agent is not None else -1
            again = again or waiting != self._waiting
            self._waiting = waiting
            self._thread_id = (agent.thread_id or "") if agent is not None else self.name
            server = self._server_of(agent)
            if server is None and agent is None:
                server = await self._search()
            if server is None:
                self._leave()
                await self._read_file(agent)
            elif again or server is not self._server or self.trouble:
                await self._follow(server)
        self._fleet.changed()

    def _server_of(self, agent: AgentFacts | None) -> Server | None:
        if agent is None:
            return self._server if self._server in self._fleet.servers().values() else None
        return self._fleet.servers().get(agent.node) if agent.status == "active" else None

    async def _search(self) -> Server | None:
        """The server that has a thread open which is no agent's."""
        for server in self._fleet.servers().values():
            with contextlib.suppress(RequestFailed, CannotReach):
                await server.call(control.STEPS, ListSteps(thread=self.name, limit=1))
                return server
        return None

    async def _follow(self, server: Server) -> None:
        self._told = []
        self._fleet.listen(self._topic, self._heard)
        try:
            if server is not self._server:
                await server.call(control.FOLLOW, control.Follow([self._topic], steps=True))
            known = await self._asked(server, ListSteps(thread=self.name, limit=STEPS))
        except (RequestFailed, CannotReach) as exc:
            self.trouble = foreign(str(exc).removeprefix(INVALID))
            self._server = None
            return
        finally:
            told, self._told = self._told or [], None
        self.known, self.trouble, self._server = known, "", server
        for each in told:
            self._happened(each)

    async def _asked(self, server: Server, asked: ListSteps) -> Steps:
        return msgspec.json.decode(await server.call(control.STEPS, asked), type=Steps)

    async def _read_file(self, agent: AgentFacts | None) -> None:
        if not self._thread_id:
            self.known, self.trouble = NOTHING, NOT_STARTED if agent is not None else NO_FILE
            return
        found = await in_thread(steps_on_disk, self._home, ListSteps(thread=self._thread_id, limit=STEPS))
        missing = NOT_REACHED if agent is not None and agent.status == "active" else NO_FILE
        self.known, self.trouble = found or NOTHING, "" if found is not None else missing

    async def part(self, asked: ListSteps) -> Steps:
        """Another part of it. Raises RequestFailed or CannotReach."""
        if self._server is not None:
            return await self._asked(self._server, msgspec.structs.replace(asked, thread=self.name))
        named = msgspec.structs.replace(asked, thread=self._thread_id)
        return await in_thread(steps_on_disk, self._home, named) or NOTHING

    def _heard(self, kind: str, data: Raw) -> None:
        told = Told(kind, Raw(bytes(data)))
        if self._told is not None and len(self._told) < MOST_BUFFERED:
            self._told.append(told)
        self._happened(told)

    def _happened(self, told: Told) -> None:
        if told.kind in (control.RESYNC, control.AGENT):
            self._server = None  # the next look asks again
            return
        with contextlib.suppress(msgspec.MsgspecError):  # an event of a later version
            before = len(self.known.turns)
            self.known = happened(self.known, told)
            if told.kind == control.TURN and len(self.known.turns) == before:
                self.expire()  # it has ended

    def _leave(self) -> None:
        self._fleet.listen(self._topic, None)
        self._server = None

    async def aclose(self) -> None:
        server = self._server
        self._leave()
        await self._tasks.aclose()
        if server is not None and server in self._fleet.servers().values():
            with contextlib.suppress(RequestFailed, CannotReach):
                await server.call(control.FOLLOW, control.Follow([], leave=[self._topic]))
