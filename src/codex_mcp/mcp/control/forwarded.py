"""Requests that another server of the folder forwards, because we run the agent: each of its clients is a session here.

Tools do not know: what they tell or ask the client goes back over the connection.
"""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import Callable
from typing import Final, TypeVar

import msgspec
from msgspec import UNSET, Raw, Struct

from codex_mcp.base.futures import Waiter, Waiters
from codex_mcp.base.principals import LOCAL
from codex_mcp.mcp.control.inside import Inside
from codex_mcp.mcp.eras import era_of
from codex_mcp.mcp.session import Session, SessionOrigin
from codex_mcp.rpc.errors import ConnectionLost, RequestFailed, invalid_params, request_failed
from codex_mcp.rpc.peer import Peer, PendingCall
from codex_mcp.wire import control, hop, mcp
from codex_mcp.wire.jsonrpc import METHOD_NOT_FOUND, Id, Notification, Request

MOST_SESSIONS: Final = 10_000
"""Sessions of one server's clients; as many as it may have. Beyond that, the one unused for longest is closed."""

Kind = TypeVar("Kind")


class FarClient:
    """The peer of a session whose client is connected to another server, and its reach."""

    def __init__(self, peer: Peer, session: int) -> None:
        self._peer = peer
        self._session = session
        self._unheard: dict[Id, Waiters] = {}

    def notify(self, method: str, params: object = UNSET, about: Id | None = None) -> None:
        if method == "notifications/cancelled":  # of a question: its id is that of the connection
            self._peer.notify(method, params)
        else:
            said = {} if params is UNSET else {"params": params}
            self._peer.notify(hop.TOLD, {"session": self._session, "method": method, "about": about, **said})

    def start(self, method: str, params: object, about: Id | None = None) -> PendingCall:
        """Ask the client."""
        if method != "elicitation/create":
            raise request_failed(METHOD_NOT_FOUND, f"{method} is not passed on between servers")
        sent = self._peer.start(hop.ASK, {"session": self._session, "about": about, "params": params})
        answer: asyncio.Future[Raw] = asyncio.get_running_loop().create_future()
        sent.answer.add_done_callback(lambda done: _pass_on(done, answer))
        return PendingCall(sent.id, answer)

    def forget(self, pending: PendingCall) -> None:
        self._peer.forget(pending)

    def watch_unheard(self, about: Id, waiter: Waiter) -> None:
        self._unheard.setdefault(about, Waiters()).add(waiter)

    def unheard(self, about: Id) -> None:
        waiters = self._unheard.pop(about, None)
        if waiters is not None:
            waiters.tell()


def _pass_on(done: asyncio.Future[Raw], answer: asyncio.Future[Raw]) -> None:
    if answer.done():
        return
    if done.cancelled():
        answer.cancel()
    elif (why := done.exception()) is None:
        answer.set_result(done.result())
    else:
        is_gone = isinstance(why, RequestFailed) and why.error.code == hop.GONE
        answer.set_exception(ConnectionLost("the client is gone") if is_gone else why)
        answer.exception()  # its caller may be gone as well


class _Opened(Struct, frozen=True):
    session: Session
    client: FarClient


class Forwarded:
    def __init__(self, peer: Peer, inside: Inside, may_see: Callable[[str], bool]) -> None:
        self._peer = peer
        self._inside = inside
        self._may_see = may_see
        self._sessions: OrderedDict[int, _Opened] = OrderedDict()

    def whose_received(self, request: Request) -> object:
        """Whether we have this thread of this principal open. Raises RequestFailed, MsgspecError."""
        asked = msgspec.json.decode(request.params, type=hop.Whose)
        return {"is_here": self._inside.threads.known(asked.thread, self._principal(asked.meta)) is not None}

    def _principal(self, meta: control.Meta) -> str:
        principal = LOCAL if meta.acts_for is None else meta.acts_for.principal
        if not self._may_see(principal):
            raise request_failed(control.NOT_ALLOWED, f"this connection does not act for {principal}")
        return principal

    def request_received(self, request: Request) -> object:
        """Answer it, or return the coroutine that will. Raises RequestFailed, MsgspecError."""
        asked = msgspec.json.decode(request.params, type=hop.Forward)
        if asked.method not in hop.METHODS:
            raise request_failed(METHOD_NOT_FOUND, f"{asked.method} is not forwarded")
        principal = self._principal(asked.meta)
        inner = Request(asked.id, asked.method, asked.params)
        return self._inside.methods.handle(self._session(asked.origin, principal), inner, era_of(inner))

    def _session(self, origin: hop.Origin, principal: str) -> Session:
        found = self._sessions.get(origin.session)
        if found is None:
            client = FarClient(self._peer, origin.session)
            here = SessionOrigin(
                principal, origin.log_id, origin.caller, client, is_local=origin.is_local, is_forwarded=True
            )
            session = Session(client, self._inside.tools, self._inside.calls, here)
            session.client.introduce(
                origin.client, origin.capabilities, origin.revision, is_stateless=origin.is_stateless
            )
            found = self._sessions[origin.session] = _Opened(session, client)
            if len(self._sessions) > MOST_SESSIONS:
                self._sessions.popitem(last=False)[1].session.close()
        self._sessions.move_to_end(origin.session)
        if (found.session.principal, found.session.caller) != (principal, origin.caller):
            raise invalid_params(f"session {origin.session} is another caller's")
        return found.session

    def notification_received(self, message: Notification) -> bool:
        """Handle it; False: it is not about forwarded requests. Raises MsgspecError."""
        match message.method:
            case hop.CANCELLED:
                self._cancelled(_read(message, hop.Cancelled))
            case hop.UNHEARD:
                about = _read(message, hop.About)
                if opened := self._sessions.get(about.session):
                    opened.client.unheard(about.id)
            case hop.CALLER:
                self._caller_told(_read(message, hop.CallerNews))
            case hop.END:
                if ended := self._sessions.pop(_read(message, hop.Ended).session, None):
                    ended.session.close()
            case _:
                return False
        return True

    def _cancelled(self, told: hop.Cancelled) -> None:
        opened = self._sessions.get(told.session)
        if opened is not None and told.hung_up:
            opened.session.hung_up(told.id)
        elif opened is not None:
            opened.session.cancel(mcp.Cancelled(told.id, told.reason))

    def _caller_told(self, told: hop.CallerNews) -> None:
        tools = self._inside.tools
        match told.kind:
            case hop.LOST:
                tools.answer_lost(told.caller, told.id)
            case hop.READ:
                tools.answer_read(told.caller, told.id)
            case hop.LEFT:
                tools.caller_left(told.caller, told.client)
            case hop.CAME:
                tools.caller_came(told.caller)

    def close(self) -> None:
        """The other server is gone: others of its clients may collect what they have not."""
        for opened in self._sessions.values():
            if not opened.session.client.is_stateless:
                self._inside.tools.caller_left(opened.session.caller, opened.session.client.name)
            opened.session.close()
        self._sessions.clear()


def _read(message: Notification, kind: type[Kind]) -> Kind:
    return msgspec.json.decode(message.params, type=kind)
