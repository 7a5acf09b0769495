"""One client: who it is, and its running calls and subscriptions."""

from __future__ import annotations

import asyncio
import itertools
import logging
import os
import time
from collections.abc import Awaitable, Callable, Coroutine
from functools import partial
from typing import Any, Final, Protocol, TypeAlias, TypeVar

from msgspec import Struct

from codex_mcp.base.logs import Subject, about_only, stay_about
from codex_mcp.base.principals import LOCAL, account
from codex_mcp.base.settings.calls import CallSettings
from codex_mcp.mcp.callers import RecentClients, WhoCalls
from codex_mcp.mcp.calls.call import Call, CallRequest
from codex_mcp.mcp.calls.cancellable import CancellableRequest
from codex_mcp.mcp.calls.client_budgets import LearnedLimits
from codex_mcp.mcp.client import Client, Outlet, Reach
from codex_mcp.mcp.known_clients import is_time_out
from codex_mcp.mcp.roots import SessionRoots
from codex_mcp.mcp.schema.catalogue import CODEX_WAIT
from codex_mcp.mcp.schema.results import ToolResult
from codex_mcp.mcp.subscriber import Subscriber
from codex_mcp.rpc.peer import call_once_answered
from codex_mcp.wire import mcp
from codex_mcp.wire.jsonrpc import Id

logger = logging.getLogger(__name__)

Part = TypeVar("Part")

ID_BYTES: Final = 6
"""As many as the log shows of an HTTP session's id; enough to tell the sessions of a log apart."""

LOGGED_CHARS: Final = 200
"""What the log shows of a client's text, which may have megabytes."""


class ToolBox(Protocol):
    """The tools of a server."""

    def run(self, call: Call) -> Awaitable[object]:
        """Run one call to its end."""

    def answer_at_once(self, params: mcp.CallTool, principal: str, caller: str) -> object | None:
        """The answer to a call that has nothing to wait for; None if the call must run."""

    def warm_up(self) -> None:
        """Prepare for a call that will come soon."""

    def answer_lost(self, caller: str, request_id: Id) -> None:
        """The answer to a call did not reach this caller; it is news again."""

    def answer_read(self, caller: str, request_id: Id) -> None:
        """This caller reads it after all."""

    def caller_left(self, caller: str, client: str) -> None:
        """The session of this caller, who is this client, has ended, or lost its connections."""

    def caller_came(self, caller: str) -> None:
        """It has a connection."""

    limits: LearnedLimits
    """How long clients wait."""

    callers: RecentClients
    """Who they are."""


Prepare: TypeAlias = Callable[[Subscriber], Awaitable[mcp.Wanted]]
"""Prepares a subscription; returns the changes that will be reported."""


class SessionOrigin(Struct, frozen=True):
    """Where a session comes from; the defaults are for the one client on stdin and stdout."""

    principal: str = LOCAL
    log_id: str = ""
    """Its id in the log; a random one by default."""
    caller: str = ""
    """Whom news is reported to, also after the session was closed and opened again; by default the session's id."""
    reach: Reach | None = None
    """Its connections, if there may be several."""
    administers: Callable[[], bool] = lambda: False
    """Whether it may change the server for everyone, at this moment."""
    is_local: bool = False
    """The client has started the server and shares its user."""
    is_forwarded: bool = False
    """Its client is connected to another server, which forwards its requests."""
    is_view: bool = False
    """A person looks, and can change nothing: looking is no call that the audit lists."""
    is_unread: Callable[[Id], bool] = lambda _: False
    """Whether the transport knows that the answer to this request was not read."""


ON_STDIO: Final = SessionOrigin(administers=lambda: True, is_local=True)


_numbers = itertools.count(1)


class Session:
    """A client and its calls."""

    def __init__(
        self,
        peer: Outlet,
        tools: ToolBox,
        settings: CallSettings,
        origin: SessionOrigin = ON_STDIO,
        on_shutdown: Callable[[], object] | None = None,
    ) -> None:
        """`on_shutdown` ends this session when its client asks for that."""
        self.id = origin.log_id or os.urandom(ID_BYTES).hex()
        """For the log and for traces. It gives access to nothing."""
        self.principal = origin.principal
        self.subject = Subject(self.id, account(self.principal))
        self.number = next(_numbers)
        self.is_local = origin.is_local
        self.is_forwarded = origin.is_forwarded
        self._is_view = origin.is_view
        self.may_administer = origin.administers
        self._is_unread = origin.is_unread
        self.caller = origin.caller or self.id
        self.client = Client(peer, origin.reach)
        self._tools = tools
        self._settings = settings
        self._calls: dict[Id, Call] = {}
        self._listeners: dict[Id, Subscriber] = {}
        self._requests: dict[Id, CancellableRequest] = {}
        self._on_shutdown = on_shutdown
        self._at_close: list[Callable[[], None]] = []
        self._counted_as: WhoCalls | None = None
        self.is_final = False
        """Its client has ended it for good: it will not be opened again."""
        self._parts: dict[type[Any], Any] = {}
        self._idle: asyncio.Event | None = None
        """Created by `wait_idle`, because every stateless request is a session and few are waited for."""

    def __repr__(self) -> str:
        return f"<Session {self.id} of {self.client.name or 'a client without a name'}: {len(self._calls)} calls>"

    @property
    def running(self) -> int:
        return len(self._calls)

    @property
    def busy(self) -> bool:
        """A call or a subscription is open."""
        return bool(self._calls or self._listeners)

    def introduce(self, params: mcp.Initialize) -> None:
        """Take note of who the client is, and start the core, which it will need soon."""
        self.client.introduce(params.client_info, params.capabilities, mcp.negotiated(params.protocol_version))
        info = params.client_info
        self.counts_as(info)
        said = (info.name, info.version, params.protocol_version)
        with about_only(self.subject):
            logger.info("client %s %s asks for MCP %s", *(text[:LOGGED_CHARS] for text in said))
        # Later, because the client waits for the answer to this first.
        asyncio.get_running_loop().call_soon(self._tools.warm_up)

    def counts_as(self, info: mcp.ClientInfo) -> None:
        """List it among the clients of the server until it is closed, under the name that it has now."""
        callers, before = self._tools.callers, self._counted_as
        if before is None:
            self.at_close(self._counts_no_more)
        else:
            callers.closed(before)
        self._counted_as = self._who(info)
        callers.opened(self._counted_as)

    def _counts_no_more(self) -> None:
        assert self._counted_as is not None
        self._tools.callers.closed(self._counted_as)
        self._counted_as = None

    def _who(self, info: mcp.ClientInfo) -> WhoCalls:
        return WhoCalls(self.principal, info.name, info.version)

    def shut_down(self) -> None:
        """End the session and its calls, once this request is answered."""
        logger.info("the client asks to end the session")
        if self._on_shutdown is not None:
            call_once_answered(self._on_shutdown)

    def call_tool(self, request_id: Id, params: mcp.CallTool, client: Client) -> object:
        """Answer a call at once, without a task of its own, or begin it; from then on it can be cancelled."""
        subject = self.subject._replace(request=str(request_id)[:LOGGED_CHARS])
        if params.name == CODEX_WAIT.name and params.meta.part is None:
            for earlier in self._calls.values():
                earlier.news_wanted(params)
        if client.is_stateless and client.info is not None and not self.is_forwarded:
            self._tools.callers.called(self._who(client.info), time.monotonic())
        answer = self._tools.answer_at_once(params, self.principal, self.caller)
        if answer is not None:
            with about_only(subject):
                logger.info("call of %s %s", params.name[:LOGGED_CHARS], ending_of(answer))
            return answer
        root = partial(self.root, client, request_id)
        request = CallRequest(
            id=request_id,
            params=params,
            subject=subject,
            caller=self.caller,
            root=root,
            is_local=self.is_local,
            principal=self.principal,
            session=self,
            is_forwarded=self.is_forwarded,
            is_view=self._is_view,
        )
        call = Call(client, request, self._settings, self._tools.limits)
        self._calls[request_id] = call
        return self._run(call)

    async def _run(self, call: Call) -> object:
        name = call.params.name[:LOGGED_CHARS]
        stay_about(call.subject)
        logger.info("call of %s", name)
        ending = "ended"
        try:
            result = await self._tools.run(call)
            ending = ending_of(result)
            return result
        finally:
            stay_about(call.subject._replace(thread=call.thread_id))
            logger.info("call of %s %s", name, ending)
            del self._calls[call.request_id]
            if not call.can_deliver:
                self._tools.answer_lost(self.caller, call.request_id)
            if not self._calls and self._idle is not None:
                self._idle.set()

    async def listen(
        self, request_id: Id, client: Client, wanted: mcp.Wanted, prepare: Prepare | None = None
    ) -> object:
        """Keep a subscription to these changes open until the client cancels it or the server stops."""
        listener = Subscriber(client, wanted)
        self._listeners[request_id] = listener
        meta = {mcp.SUBSCRIPTION_KEY: request_id}
        try:
            if prepare is not None:
                listener.accept(await prepare(listener))
            acknowledged = {"notifications": listener.wanted, "_meta": meta}
            client.notify("notifications/subscriptions/acknowledged", acknowledged, request_id)
            await listener.ended.wait()
        finally:
            del self._listeners[request_id]
            listener.release()
        return {"_meta": meta}

    def cancellable(self, request_id: Id, work: Awaitable[object]) -> Coroutine[Any, Any, object]:
        """Let the client cancel this request from now on. The coroutine raises RequestCancelled."""
        self._requests[request_id] = CancellableRequest()
        return self._run_cancellable(request_id, work)

    async def _run_cancellable(self, request_id: Id, work: Awaitable[object]) -> object:
        try:
            return await self._requests[request_id].run(work)
        finally:
            del self._requests[request_id]

    def announce(self, change: mcp.Change) -> None:
        """Report a changed list to its subscriptions, and to a client of the handshake era, which needs none."""
        method = f"notifications/{change}/list_changed"
        if self.client.info is not None:
            self.client.notify(method, {})
        for request_id, listener in self._listeners.items():
            if listener.wanted.holds(change):
                listener.client.notify(method, {"_meta": {mcp.SUBSCRIPTION_KEY: request_id}}, request_id)

    async def root(self, client: Client, about: Id) -> str | None:
        """The folder for work without a `cwd`, if the client names exactly one. `about`: the request it is for."""
        if client.is_stateless or client.capabilities.get("roots") is None:
            return None
        return await self.part(SessionRoots, SessionRoots).folder(client, about)

    def roots_changed(self) -> None:
        """The client has other roots now, and with them other prompts of a project."""
        roots = self.kept(SessionRoots)
        if roots is not None:
            roots.changed()
            self.announce(mcp.Change.PROMPTS)

    def cancel(self, message: mcp.Cancelled) -> None:
        """The client cancels a request, which may be over already, or unknown."""
        call = self._calls.get(message.request_id)
        if call is not None:
            reason = (message.reason or "no reason given")[:LOGGED_CHARS]
            with about_only(call.subject._replace(thread=call.thread_id)):
                logger.info("request cancelled: %s", reason)
            call.cancelled(reason)
        elif message.request_id in self._listeners:
            self._listeners[message.request_id].ended.set()
        elif message.request_id in self._requests:
            self._requests[message.request_id].cancel()
        elif is_time_out(message.reason or "") or self._is_unread(message.request_id):
            # It has crossed our answer, which its client therefore ignores. Any other client has read the answer: some
            # cancel each call when they are done with it.
            self._tools.answer_lost(self.caller, message.request_id)

    def hung_up(self, request_id: Id) -> None:
        """The connection of a stateless request is gone, and nothing else can read its answer."""
        call = self._calls.get(request_id)
        if call is not None:
            with about_only(call.subject._replace(thread=call.thread_id)):
                logger.info("the client closed the connection of its request")
            call.hung_up()
        else:
            self.cancel(mcp.Cancelled(request_id, "the client closed the connection"))

    def answer_unread(self, request_id: Id) -> None:
        """The connection that was to read the answer is gone; the client may reconnect, or ask again."""
        call = self._calls.get(request_id)
        if call is not None:
            call.answer_unread()
        elif request_id in self._requests:
            self._requests[request_id].cancel()
        else:
            self._tools.answer_lost(self.caller, request_id)

    def answer_read_again(self, request_id: Id) -> None:
        """The client has reconnected to read the answer, which may be there already."""
        call = self._calls.get(request_id)
        if call is not None:
            call.answer_read_again()
        else:
            self._tools.answer_read(self.caller, request_id)

    def cancel_all(self) -> None:
        """Cancel every call, and end the subscriptions."""
        for call in list(self._calls.values()):
            call.cancel()
        self.stop_listening()

    def stop_listening(self) -> None:
        """Answer the subscriptions."""
        for listener in self._listeners.values():
            listener.ended.set()

    def at_close(self, clean_up: Callable[[], None]) -> None:
        """Call this when the session is closed. It must not raise."""
        self._at_close.append(clean_up)

    def finish(self) -> None:
        """Its client ends it for good; to be called before `close`."""
        self.is_final = True

    def close(self) -> None:
        """The client is gone: release what was kept for it. A session of HTTP may be opened again later."""
        while self._at_close:
            self._at_close.pop()()
        self._parts.clear()

    def part(self, kind: type[Part], make: Callable[[], Part]) -> Part:
        """What a feature keeps for this session; it is made when it is first needed, and goes with the session."""
        found: Part | None = self._parts.get(kind)
        if found is None:
            found = self._parts[kind] = make()
        return found

    def kept(self, kind: type[Part]) -> Part | None:
        """The same, if it was made."""
        return self._parts.get(kind)

    async def wait_idle(self, timeout: float) -> bool:
        """Wait until no call runs; False if time is up first."""
        try:
            async with asyncio.timeout(timeout):
                while self._calls:
                    if self._idle is None or self._idle.is_set():
                        self._idle = asyncio.Event()
                    await self._idle.wait()
        except TimeoutError:
            return False
        return True


def ending_of(result: object) -> str:
    """How a call ended, in a word or two for the log."""
    if not isinstance(result, ToolResult):
        return "ended"
    if result.status:
        return f"ended: {result.status}"
    return "ended with an error" if result.is_error else "ended"
