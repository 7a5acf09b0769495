"""The connections to other servers of the state folder, and what those say to the clients of this one."""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import Callable
from functools import partial
from typing import Final

import msgspec
from msgspec import Raw, Struct

from codex_mcp.base.futures import Waiter
from codex_mcp.base.tasks import TaskSet
from codex_mcp.control import failures
from codex_mcp.control.failures import CannotReach, NotSent, Why
from codex_mcp.control.server import Caller, Heard, Server
from codex_mcp.mcp.hop.ways import Ways
from codex_mcp.mcp.session import Session
from codex_mcp.rpc.errors import ConnectionLost, RequestFailed, request_failed
from codex_mcp.rpc.peer import PendingCall
from codex_mcp.state.contract import Node
from codex_mcp.wire import hop, mcp
from codex_mcp.wire.jsonrpc import METHOD_NOT_FOUND, Id, Notification, Request

PROGRAM: Final = "codex-mcp"

MOST_UNSURE: Final = 256
"""Answers of one server that were lost on the way; the oldest is forgotten first."""

CALLERS_KEPT: Final = 10_000
"""Callers of which is known where their calls were forwarded; as many as there may be sessions."""


class FarCall(Struct, frozen=True):
    """A request that another server answers."""

    server: Server
    session: int
    id: Id

    def cancelled(self, reason: str | None) -> None:
        self.server.notify(hop.CANCELLED, hop.Cancelled(self.session, self.id, reason))

    def hung_up(self) -> None:
        self.server.notify(hop.CANCELLED, hop.Cancelled(self.session, self.id, hung_up=True))


class Link:
    """A connection to one server."""

    def __init__(self, server: Server) -> None:
        self.server = server
        self._sessions: dict[int, Session] = {}
        self._asking: dict[Id, tuple[Session, PendingCall]] = {}

    def knows(self, session: Session) -> None:
        """Requests of this session are forwarded: what is said to its client comes here, until it is closed."""
        if session.number not in self._sessions:
            self._sessions[session.number] = session
            session.at_close(partial(self._closed, session.number))

    def _closed(self, number: int) -> None:
        self._sessions.pop(number, None)
        self.server.notify(hop.END, hop.Ended(number))

    def told(self, message: Notification) -> None:
        if message.method == hop.TOLD:
            said = msgspec.json.decode(message.params, type=hop.Told)
            if session := self._sessions.get(said.session):
                session.client.notify(said.method, said.params, said.about)
        elif message.method == "notifications/cancelled":
            withdrawn = msgspec.json.decode(message.params, type=mcp.Cancelled)
            if asking := self._asking.get(withdrawn.request_id):
                session, pending = asking
                session.client.withdraw(pending, withdrawn.reason or "")

    def asked(self, request: Request) -> object:
        if request.method != hop.ASK:
            raise request_failed(METHOD_NOT_FOUND, f"method not found: {request.method}")
        ask = msgspec.json.decode(request.params, type=hop.Ask)
        session = self._sessions.get(ask.session)
        if session is None:
            raise request_failed(hop.GONE, "this client is not connected any more")
        return self._ask(request.id, session, ask)

    async def _ask(self, number: Id, session: Session, ask: hop.Ask) -> object:
        unheard: Waiter = asyncio.get_running_loop().create_future()
        pending = session.client.start_elicitation(ask.params, ask.about)
        self._asking[number] = session, pending
        session.client.watch_unheard(ask.about, unheard)
        unheard.add_done_callback(partial(self._unheard, ask))
        try:
            await asyncio.wait([pending.answer])
            if pending.answer.cancelled():
                raise request_failed(hop.GONE, "the question was withdrawn")
            # Written anew: the client's message may have been spread over several lines.
            return msgspec.json.decode(pending.answer.result())
        except ConnectionLost as exc:
            raise request_failed(hop.GONE, "the client is gone") from exc
        except asyncio.CancelledError:
            session.client.withdraw(pending, "the server that asks is gone")
            raise
        finally:
            unheard.cancel()
            del self._asking[number]

    def _unheard(self, ask: hop.Ask, done: Waiter) -> None:
        if not done.cancelled():
            self.server.notify(hop.UNHEARD, hop.About(ask.session, ask.about))


class Links:
    """`own_node` tells which node this server is."""

    def __init__(self, ways: Ways, own_node: Callable[[], str]) -> None:
        self._ways = ways
        self._own_node = own_node
        self._tasks = TaskSet()
        self._links: dict[str, asyncio.Task[Link]] = {}
        self._unsure: dict[str, list[hop.CallerNews]] = {}
        self._nodes_of: OrderedDict[str, dict[str, bool]] = OrderedDict()
        self._closed = False

    async def to(self, node: Node) -> Link:
        """The connection to this server, made when it is first needed, or was lost. Raises CannotReach."""
        connecting = self._links.get(node.id)
        if connecting is None or _is_over(connecting):
            if connecting is not None and _has_link(connecting):
                self._drop(connecting.result())
            name = f"link to {node.id}"
            connecting = self._links[node.id] = self._tasks.spawn(self._connected(node), name=name)
        await asyncio.wait([connecting])
        return connecting.result()

    async def _connected(self, node: Node) -> Link:
        made: list[Link] = []

        def told(message: Notification) -> None:
            for link in made:
                link.told(message)

        def asked(request: Request) -> object:
            return made[0].asked(request)

        caller = Caller(program=PROGRAM, person="", node=self._own_node())
        server = await self._ways.opened(node, caller, Heard(told, asked))
        made.append(Link(server))
        for news in self._unsure.pop(node.id, ()):
            server.notify(hop.CALLER, news)
        return made[0]

    async def forward(
        self,
        node: Node,
        session: Session,
        asked: hop.Forward,
        begun: Callable[[FarCall], None] = lambda _: None,
        *,
        begins: bool = True,
    ) -> Raw:
        """The result of another server. `begun` is called when it was sent. Raises RequestFailed, CannotReach.

        `begins`: the caller may have work there from then on.
        """
        try:
            link = await self.to(node)
        except CannotReach as exc:
            raise NotSent(exc.why, str(exc)) from exc
        link.knows(session)
        self._note(asked.origin.caller, node.id, begins=begins)
        pending = link.server.start(hop.FORWARD, asked)
        far = FarCall(link.server, asked.origin.session, asked.id)
        begun(far)
        try:
            return await link.server.answer_to(pending, changes=True)
        except asyncio.CancelledError:
            far.cancelled(None)
            raise
        except RequestFailed as exc:
            if exc.error.code == METHOD_NOT_FOUND and hop.FORWARD in exc.error.message:
                raise failures.too_old(link.server.name) from exc
            raise
        except CannotReach as exc:
            self._lost(node, link, exc, asked)
            raise

    async def has(self, node: Node, asked: hop.Whose) -> bool:
        """Whether this server has a thread open. Raises RequestFailed, CannotReach."""
        answer = await (await self.to(node)).server.call(hop.WHOSE, asked)
        return msgspec.json.decode(answer, type=dict[str, bool]).get("is_here", False)

    def _lost(self, node: Node, link: Link, why: CannotReach, asked: hop.Forward) -> None:
        """Its answer may have been on the way: what it told is news again, once there is a connection."""
        self._drop(link)
        if why.why is not Why.ENDED:
            unsure = self._unsure.setdefault(node.id, [])
            unsure.append(hop.CallerNews(kind=hop.LOST, caller=asked.origin.caller, id=asked.id))
            del unsure[:-MOST_UNSURE]

    def _drop(self, link: Link) -> None:
        if not self._closed:
            self._tasks.spawn(link.server.aclose(), name=f"end of the link to {link.server.name}")

    def _note(self, caller: str, node: str, *, begins: bool) -> None:
        nodes = self._nodes_of.setdefault(caller, {})
        nodes[node] = begins or nodes.get(node, False)
        self._nodes_of.move_to_end(caller)
        if len(self._nodes_of) > CALLERS_KEPT:
            self._nodes_of.popitem(last=False)

    def caller_told(self, news: hop.CallerNews) -> None:
        """Let the servers know to which calls of this caller were forwarded."""
        for node in self._nodes_of.get(news.caller, ()):
            self.tell(node, news)

    def tell(self, node: str, news: hop.CallerNews) -> None:
        connecting = self._links.get(node)
        if connecting is not None and _has_link(connecting):
            connecting.result().server.notify(hop.CALLER, news)

    def has_forwarded(self, caller: str, node: str | None = None) -> bool:
        """Whether that server, or any, had calls of this caller that may have begun something there."""
        nodes = self._nodes_of.get(caller, {})
        return any(nodes.values()) if node is None else nodes.get(node, False)

    async def aclose(self) -> None:
        self._closed = True
        made = [each for each in self._links.values() if _has_link(each)]
        self._links.clear()
        await asyncio.gather(*(each.result().server.aclose() for each in made))
        await self._tasks.aclose()


def _has_link(connecting: asyncio.Task[Link]) -> bool:
    return connecting.done() and not connecting.cancelled() and connecting.exception() is None


def _is_over(connecting: asyncio.Task[Link]) -> bool:
    return connecting.done() and not (_has_link(connecting) and not connecting.result().server.is_lost)
