"""One living server, followed: its agents, what it asks, its mail, environments and health."""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import Mapping, Sequence
from typing import Final, Protocol

import msgspec
from msgspec import Raw, Struct
from msgspec.structs import replace

from codex_mcp.base.tasks import TaskSet
from codex_mcp.control.asked import Asked
from codex_mcp.control.failures import CannotReach, Why
from codex_mcp.control.server import Caller, Server, connect_server
from codex_mcp.dashboard.views.facts import AgentFacts, agent_facts
from codex_mcp.rpc.errors import RequestFailed
from codex_mcp.wire import control
from codex_mcp.wire.jsonrpc import Notification

ROWS: Final = (control.MAIL, control.ENVIRONMENTS, control.HEALTH)
"""Topics whose rows are kept as they are told."""


LOST: Final = control.Receipt(
    state="lost",
    decision="lost",
    by="",
    via="shutdown",
    at=0.0,
    sentence="The server ended, and the question ended with it. Nothing was decided.",
)
"""What becomes of the questions of a server that was killed: it cannot say so itself."""


class Listener(Protocol):
    """Is told what a server tells."""

    def changed(self) -> None:
        """Something that pages show."""

    def closed(self, asked: Asked) -> None:
        """A question has ended."""

    def thread_told(self, topic: str, kind: str, data: Raw) -> None:
        """Something has happened in a thread that is followed."""

    def left_out(self) -> None:
        """The server has left something out that it would have told."""


class _Told(Struct, frozen=True):
    kind: str
    data: Raw
    topic: str = ""


class Followed:
    """One server."""

    def __init__(self, fleet: Listener, where: tuple[str, str], name: str, before: Followed | None) -> None:
        """`where` is its state folder and its node; `name` is how a person knows it."""
        self._fleet = fleet
        self._state_dir, self._node = where
        self._name = name
        self.team: str = before.team if before is not None else ""
        self.agents: dict[str, AgentFacts] = before.agents if before is not None else {}
        self.left: dict[str, AgentFacts] = {}
        """Those that it does not run any more, until their records say so."""
        self.rows: dict[str, dict[str, Mapping[str, object]]] = {topic: {} for topic in ROWS}
        """By topic and key."""
        self.asked: dict[str, Asked] = dict(before.asked) if before is not None else {}
        """Those of a server that does not answer stay: it may go on, and nothing has decided them."""
        self.trouble: str = before.trouble if before is not None else ""
        """Why it cannot be reached."""
        self.since: float = before.since if before is not None and before.trouble else 0.0
        """When that was noticed."""
        self.is_followed = False
        self.greeting: control.Greeting | None = None
        self.server: Server | None = None
        """The connection, while it is followed."""
        self.is_over = False
        self.has_ended = False
        self.first = asyncio.Event()
        """It was reached, or could not be."""
        self._early: list[Notification] | None = None
        """What was told since the snapshot was asked for: it may be newer than that."""
        self._snapshot = asyncio.Lock()
        self._taking: asyncio.Task[None] | None = None
        self._tasks = TaskSet()

    async def run(self, caller: Caller) -> None:
        try:
            await self._run(caller)
        except CannotReach as exc:
            self.has_ended = exc.why is Why.ENDED
            self._in_trouble(str(exc))
            if self.has_ended:
                self.lose_questions()
        except RequestFailed as exc:
            self._in_trouble(f"{self._name} refused: {exc}")
        finally:
            self.is_over, self.is_followed, self.server = True, False, None
            await self._tasks.aclose()
            self.first.set()
            self._fleet.changed()

    async def _run(self, caller: Caller) -> None:
        async with connect_server(self._state_dir, self._node, caller, name=self._name, told=self._told) as (
            server,
            hello,
        ):
            self._name, self.team, self.greeting = f"server process {hello.pid}", hello.team, hello
            await self._take(server)
            self.trouble, self.is_followed, self.server = "", True, server
            self.first.set()
            self._fleet.changed()
            raise await server.until_lost()

    def _in_trouble(self, why: str) -> None:
        self.since = self.since if self.trouble else time.time()
        self.trouble = why

    async def _take(self, server: Server) -> None:
        """Ask for a snapshot, and what is told from then on. Raises RequestFailed, CannotReach."""
        async with self._snapshot:
            early: list[Notification] = []
            try:
                while True:
                    self._early = []
                    followed = await _followed(server)
                    early = self._early
                    if not any(each.method == control.RESYNC for each in early):
                        break
            finally:
                self._early = None
            self._took(followed)
            for message in early:
                self._told(message)

    def _took(self, followed: control.Followed) -> None:
        self.agents = _by_id(followed.agents)
        for topic in ROWS:
            self.rows[topic] = {str(row.get("key")): row for row in getattr(followed, topic)}
        self.asked = {question.id: self._asked(question) for question in followed.questions}
        for question in followed.answered:
            self._fleet.closed(self._asked(question))

    async def take_again(self) -> None:
        """Ask for a new snapshot, if the server is followed."""
        if self.server is not None:
            # Whoever waits for the end of the connection says why it ended.
            with contextlib.suppress(RequestFailed, CannotReach):
                await self._take(self.server)
            self._fleet.changed()

    def lose_questions(self) -> None:
        """The server has ended, and what it was asking has ended with it."""
        lost = replace(LOST, at=time.time())
        while self.asked:
            _, asked = self.asked.popitem()
            self._fleet.closed(replace(asked, question=replace(asked.question, state=lost.state, receipt=lost)))

    def _asked(self, question: control.Question) -> Asked:
        return Asked(question, self._node, self._name)

    def _told(self, message: Notification) -> None:
        if self._early is not None:
            self._early.append(message)
            return
        if message.method == control.RESYNC and self.server is not None:
            if self._taking is None or self._taking.done():
                self._taking = self._tasks.spawn(self.take_again(), name=f"what {self._name} left out")
            self._fleet.left_out()
        if message.method != control.EVENT:
            return
        try:
            told = msgspec.json.decode(message.params, type=_Told)
            if told.topic.startswith(control.THREAD):
                self._fleet.thread_told(told.topic, told.kind, told.data)
                return
            if told.kind in (control.OPENED, control.CLOSED):
                self.question_told(msgspec.json.decode(told.data, type=control.Question))
            elif told.kind == control.AGENT:
                self._agent_told(msgspec.json.decode(told.data, type=dict[str, object]))
            elif told.topic in ROWS:
                self._row_told(told.topic, msgspec.json.decode(told.data, type=dict[str, object]))
        except msgspec.MsgspecError:
            return  # an event of a later version
        self._fleet.changed()

    def question_told(self, question: control.Question) -> None:
        """A question is as its server says here."""
        if question.receipt is None:
            self.asked[question.id] = self._asked(question)
        else:
            self.asked.pop(question.id, None)
            self._fleet.closed(self._asked(question))

    def _row_told(self, topic: str, row: Mapping[str, object]) -> None:
        key = str(row.get("key"))
        if row.get("is_here") is False:
            self.rows[topic].pop(key, None)
        else:
            self.rows[topic][key] = row

    def _agent_told(self, row: Mapping[str, object]) -> None:
        codex_id = str(row.get("codex_id"))
        if row.get("is_here") is False and codex_id in self.agents:
            gone = self.agents.pop(codex_id)
            self.left[codex_id] = replace(gone, status="closed", thread_state="closed", owner=None)
        elif (agent := agent_facts(row)) is not None:
            self.agents[agent.codex_id] = agent


async def _followed(server: Server) -> control.Followed:
    """Follow everything that a server knows, perhaps of an earlier version. Raises RequestFailed, CannotReach."""
    for topics in ([control.AGENTS, control.QUESTIONS, *ROWS], [control.AGENTS, control.QUESTIONS]):
        with contextlib.suppress(RequestFailed):
            return await server.follow(topics)
    return await server.follow([control.QUESTIONS])


def _by_id(rows: Sequence[Mapping[str, object]]) -> dict[str, AgentFacts]:
    found = (agent_facts(row) for row in rows)
    return {agent.codex_id: agent for agent in found if agent is not None}
