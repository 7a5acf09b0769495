"""What a Codex TUI talks to instead of Codex: one agent of this server. `rules` decides, this carries it out.

The TUI speaks the protocol of `codex app-server`. Its prompts go through the agent's queue and limits, what Codex says
about the thread goes to the TUI as it is, and what Codex asks is the question on the board.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Mapping
from typing import Final

import msgspec
from msgspec import Raw

from codex_mcp.base.errors import Explained
from codex_mcp.codex.app_server import AppServer
from codex_mcp.codex.core import CoreError
from codex_mcp.mcp.control.attach.answers import without_secrets
from codex_mcp.mcp.control.attach.conversation import Conversation
from codex_mcp.mcp.control.attach.dialogs import Dialogs
from codex_mcp.mcp.control.attach.hands import Hands
from codex_mcp.mcp.control.attach.rules import Ask, Begin, Known, Level, Scope, Steer, Stop, Tell, Warn, verdict_on
from codex_mcp.mcp.control.attach.who import Who
from codex_mcp.mcp.control.following import RemovalWatch
from codex_mcp.mcp.control.inside import Inside
from codex_mcp.rpc.errors import RequestFailed, invalid_params, request_failed
from codex_mcp.rpc.peer import Peer
from codex_mcp.team.roster import Member
from codex_mcp.threads.thread import Thread
from codex_mcp.wire import control
from codex_mcp.wire.app.history import ReadThread
from codex_mcp.wire.jsonrpc import INVALID_REQUEST, ErrorObject, Request

logger = logging.getLogger(__name__)

AT_ONCE: Final = 8
"""Requests of one TUI that Codex works on; the others wait, so that a TUI cannot hold up the agents."""

OLD_CODEX: Final = "this agent runs on an old Codex (mcp-server), to which no TUI can be attached; codex-mcp watch can"
NO_THREAD: Final = "the agent has no conversation yet; try again when it has begun"


class Relay:
    """Made by `attached`."""

    def __init__(self, peer: Peer, inside: Inside, member: Member, core: AppServer, who: Who) -> None:
        thread = _thread_of(member)
        self._peer = peer
        self._inside = inside
        self._member = member
        self._core = core
        self.scope = Scope(thread.id, thread.cwd, who.level)
        self._slots = asyncio.Semaphore(AT_ONCE)
        self._is_gone = False
        self._tell_gone: Callable[[], None] = lambda: None
        self._conversation = Conversation(peer.notify, self._gone)
        self._hands = Hands(inside, member, thread.id, who, self._conversation)
        decide = self._hands.decide
        self._dialogs = Dialogs(peer, inside.threads.board, thread.id, core.taps.find_asked, decide)
        self._remove_tap = core.taps.add(thread.id, self._conversation)
        self._removal = RemovalWatch(inside, member, self._gone)

    def when_gone(self, tell: Callable[[], None]) -> None:
        """Call this once the agent, or its Codex, is not there any more: the TUI has to ask for everything again."""
        self._tell_gone = tell
        if self._is_gone:
            tell()

    def _gone(self) -> None:
        self._is_gone = True
        self._tell_gone()

    def close(self) -> None:
        self._remove_tap()
        self._removal.stop()
        self._dialogs.stop()

    def request_received(self, request: Request) -> object:
        params = _fields(request.params)
        verdict = verdict_on(request.method, params, self.scope)
        if isinstance(verdict, ErrorObject):
            logger.info("refused %s of an attached TUI: %s", request.method[:100], verdict.message)
            raise RequestFailed(verdict)
        if self._member not in self._inside.team.roster or self._member.thread_id != self.scope.thread_id:
            self._gone()
            raise request_failed(INVALID_REQUEST, "this server does not run the agent any longer")
        match verdict:
            case Warn():
                error = {"message": verdict.why, "codexErrorInfo": None, "additionalDetails": None}
                about = {"threadId": self.scope.thread_id, "turnId": "", "willRetry": False}
                self._peer.notify("error", {"error": error, **about})
                turn = {"id": "none", "items": [], "status": "failed", "error": error}
                return {"turn": turn, "reviewThreadId": self.scope.thread_id}
            case Ask():
                return self._ask(verdict)
            case Tell():
                return self._tell(verdict)
            case Begin() | Steer() | Stop():
                return self._hands.act(verdict)

    async def _ask(self, asked: Ask) -> object:
        answer = await self._of_codex(asked.method, asked.params)
        return without_secrets(answer) if asked.method == "config/read" else answer

    async def _of_codex(self, method: str, params: object) -> Raw:
        async with self._slots:
            try:
                return await self._core.request(method, params, Raw)
            except CoreError as exc:
                raise request_failed(INVALID_REQUEST, str(exc)) from exc

    def _tell(self, asked: Tell) -> object:
        match asked.known:
            case Known.GREETING:
                return self._core.taps.greeting
            case Known.LOADED:
                return {"data": [self.scope.thread_id], "nextCursor": None}
            case Known.NOTHING:
                return {"status": "unsubscribed"}
            case Known.LIST:
                return self._list()
            case Known.CONVERSATION:
                return self._open(asked.params)

    async def _list(self) -> object:
        return {"data": [await self._read(turns=False)], "nextCursor": None, "backwardsCursor": None}

    async def _read(self, *, turns: bool) -> Raw:
        answer = await self._of_codex("thread/read", ReadThread(self.scope.thread_id, turns))
        return msgspec.json.decode(answer, type=dict[str, Raw])["thread"]

    async def _open(self, params: Mapping[str, object]) -> object:
        """The conversation so far, as `thread/resume` gives it. It is loaded here already, and nothing is changed."""
        page = params.get("initialTurnsPage")
        self._conversation.begin()
        try:
            thread = await self._read(turns=params.get("excludeTurns") is not True)
            first = None if not isinstance(page, dict) else await self._page(page)
        finally:
            # The answer is sent when this coroutine has ended, and what has happened meanwhile after that.
            loop = asyncio.get_running_loop()
            loop.call_soon(loop.call_soon, self._go_on)
        self._conversation.was_read(thread)
        setup = _thread_of(self._member).opened.raw
        told = {} if setup is None else msgspec.json.decode(setup, type=dict[str, Raw])
        return {**told, "cwd": self.scope.cwd, "thread": thread, "initialTurnsPage": first}

    async def _page(self, page: Mapping[str, object]) -> Raw:
        kept = {name: page[name] for name in ("limit", "sortDirection", "itemsView") if name in page}
        return await self._of_codex("thread/turns/list", {"threadId": self.scope.thread_id, **kept})

    def _go_on(self) -> None:
        self._conversation.go_on()
        if (tokens := self._core.taps.tokens(self.scope.thread_id)) is not None:
            self._peer.notify(tokens.method, tokens.params)
        if self.scope.level is Level.CONTROL:
            self._dialogs.begin(self._conversation)


def _fields(params: Raw) -> Mapping[str, object]:
    try:
        return msgspec.json.decode(params, type=dict[str, object])
    except msgspec.MsgspecError as exc:
        raise invalid_params(str(exc)) from exc


def _thread_of(member: Member) -> Thread:
    if member.thread is None or not member.thread.is_named:
        raise request_failed(INVALID_REQUEST, NO_THREAD)
    return member.thread


async def attached(peer: Peer, inside: Inside, found: Member, who: Who) -> tuple[Relay, control.Attached]:
    """Raises RequestFailed."""
    agent = found.agent
    try:
        async with inside.team.resuming.find(agent.codex_id, agent.principal, resume=False) as member:
            thread, core = _thread_of(member), await inside.threads.supervisor.core()
            if not isinstance(core, AppServer):
                raise request_failed(INVALID_REQUEST, OLD_CODEX)
            await thread.loading.load(thread.id, thread.spec)
            relay = Relay(peer, inside, member, core, who)
    except Explained as exc:
        raise request_failed(INVALID_REQUEST, str(exc)) from exc
    return relay, control.Attached(thread.id, thread.cwd, inside.threads.supervisor.version)
