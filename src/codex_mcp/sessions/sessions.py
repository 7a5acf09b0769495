"""Gives a call with a session id the thread of that session: its own, or a new one if there is none.

A turn of a session goes this way:

    in order     calls of one session in this server follow each other until their turns are queued in the thread
    taken        no other server may use the session until the turn has ended; a call waits for that
    opened       the thread is found, resumed from disk, or replaced by a new one
    begun        the session is written before the turn starts, so that it is there after a crash
    ended        a turn that succeeded is added to the session

The Codex of a server keeps an idle thread open. Another server that wants its session has taken the session's lock: the
first one sees that within `LOOK_INTERVAL` and unloads the thread.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import time
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from functools import partial
from typing import Final, TypeAlias

from msgspec import Struct
from msgspec.structs import replace

from codex_mcp.base.errors import Refused
from codex_mcp.base.settings.sessions import SessionSettings
from codex_mcp.base.tasks import TaskSet
from codex_mcp.codex.core import (
    BadThreadId,
    CannotResume,
    ThreadHeld,
    ThreadNotFound,
    ThreadSpec,
    ThreadUnusable,
    TurnSettings,
    TurnSpec,
)
from codex_mcp.sessions.locks import SessionLocks
from codex_mcp.sessions.session import (
    Key,
    NamedSession,
    Resumed,
    SessionLimits,
    changed_settings,
    effort_of,
    fallback_prompt,
    is_expired,
    with_wishes,
)
from codex_mcp.sessions.store import SessionStore
from codex_mcp.state.contract import Unavailable
from codex_mcp.threads.record import Status
from codex_mcp.threads.thread import Thread
from codex_mcp.threads.threads import Threads
from codex_mcp.threads.turn import Turn

logger = logging.getLogger(__name__)

PAUSE: Final = 0.1
"""Seconds between two attempts to take a session from another server."""

LOOK_INTERVAL: Final = 1.0
"""Seconds between two looks at whether another server wants a session whose thread is idle here."""

HELD_PATIENCE: Final = 20.0
"""Seconds that another server gets to unload an idle thread. It needs two."""

SAVE_GRACE: Final = 5.0
"""Seconds at the end of the server in which the last turns are saved."""

GONE: Final = "the thread of session {id} is gone; a new one was started with {turns} of its last turns as context"
KEEPS: Final = "session {id} keeps the settings that it was started with; resetSession is needed to change {names}"
NOT_SAVED: Final = "session {id} could not be saved and may be forgotten: {why}"
BUSY: Final = (
    "Session {id} is in use: its turn in thread {thread} has not ended. Call again later, or without resetSession to "
    "queue behind it."
)
BUSY_ELSEWHERE: Final = "Session {id} is in use by another server. Call again when its turn there has ended."

Submit: TypeAlias = Callable[[Thread, TurnSpec], Turn]
"""Queues a turn in a thread. May raise Refused or QueueFull."""

Again: TypeAlias = Callable[[], Awaitable[NamedSession]]


class Order(Struct, frozen=True):
    """What a call asks of a session."""

    spec: ThreadSpec
    """The settings of a new thread."""
    turn: TurnSpec
    model: str | None = None
    effort: str | None = None
    reset: bool = False
    given: tuple[str, ...] = ()
    """The fields of `spec` that the caller chose. An existing thread keeps its own."""
    warnings: tuple[str, ...] = ()


class SessionTurn:
    """One turn of a session."""

    def __init__(self, key: Key, session: NamedSession, thread: Thread, turn: Turn, asked: tuple[str, Resumed]) -> None:
        """`asked` is the prompt of the caller, and how the thread was found."""
        self.key = key
        self.session = session
        self.thread = thread
        self.turn = turn
        self.prompt, self.resumed = asked
        self.saved = asyncio.Event()
        """Set when the outcome is in the store, or cannot be."""
        self.trouble = ""
        """Why it could not be saved."""
        self.begin_again: Again | None = None
        """Writes what could not be written when the turn began."""


class _Conversation:
    """A thread as part of a session, for results."""

    def __init__(self, session: NamedSession) -> None:
        self.session = session
        """As it will be if its last turn succeeds, but with the turns that are counted already."""
        self.resumed = Resumed.NEW
        self.unsaved: list[Turn] = []


class NamedSessions:
    def __init__(self, threads: Threads, settings: SessionSettings, codex_home: str) -> None:
        self._threads = threads
        self._ttl = settings.named_session_ttl
        self._locks = SessionLocks(codex_home)
        limits = SessionLimits(settings.named_session_ttl, settings.max_named_sessions)
        self._store = SessionStore(codex_home, limits, self._locks.is_taken)
        self._orders: dict[Key, asyncio.Lock] = {}
        self._ordered: Counter[Key] = Counter()
        self._running: Counter[Key] = Counter()
        self._conversations: dict[Thread, _Conversation] = {}
        self._idle: dict[Key, Thread] = {}
        """Threads that are open here although no turn of their session runs."""
        self._looking: asyncio.Task[None] | None = None
        self._tasks = TaskSet()
        self._saving: set[SessionTurn] = set()

    async def begin(self, key: Key, order: Order, submit: Submit, patience: float | None) -> SessionTurn:
        """Queue a turn in the thread of a session. Raises Refused, CoreError, and what `submit` raises.

        `patience` limits how long it waits for another server, or for a turn before a reset; None does not.
        """
        async with self._in_order(key):
            await self._take(key, patience)
            idle = self._idle.pop(key, None)
            self._running[key] += 1
            try:
                use = await self._begin(key, order, submit, patience)
            except BaseException:
                self._left(key, idle)
                raise
        self._saving.add(use)
        self._tasks.spawn(self._follow(use), name=f"turn of session {key.id}")
        return use

    async def all_of(self, principal: str) -> list[NamedSession]:
        """The sessions of a principal, the most recently used first. Raises Unavailable."""
        return await self._store.all_of(principal, time.time())

    def continued(self, thread_id: str) -> None:
        """A call that named the thread itself goes on with it: results about its turn say so."""
        thread = self._threads.open_thread(thread_id)
        found = None if thread is None else self._conversations.get(thread)
        if found is not None:
            found.resumed = Resumed.NATIVE

    def names(self, thread_id: str) -> Mapping[str, object]:
        """What results say about the session of a thread, if it has one."""
        thread = self._threads.open_thread(thread_id)
        found = None if thread is None else self._conversations.get(thread)
        if found is None:
            return {}
        completed = sum(turn.ended and turn.outcome.status is Status.COMPLETED for turn in found.unsaved)
        session = found.session
        told = {"id": session.id, "resumed": found.resumed, "turns": session.turns + completed, "model": session.model}
        return {"session": told}

    async def aclose(self) -> None:
        """Save what has ended, and close. The turns have been stopped before."""
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(SAVE_GRACE):
                for use in list(self._saving):
                    await use.saved.wait()
        await self._tasks.aclose()
        await self._store.aclose()
        self._locks.close()

    @contextlib.asynccontextmanager
    async def _in_order(self, key: Key) -> AsyncIterator[None]:
        lock = self._orders.setdefault(key, asyncio.Lock())
        self._ordered[key] += 1
        try:
            async with lock:
                yield
        finally:
            self._ordered[key] -= 1
            if not self._ordered[key]:
                del self._ordered[key], self._orders[key]

    async def _take(self, key: Key, patience: float | None) -> None:
        try:
            async with asyncio.timeout(patience):
                while True:
                    if self._locks.take(key):
                        return
                    await asyncio.sleep(PAUSE)  # nothing tells when another process frees a lock
        except TimeoutError:
            raise Refused(BUSY_ELSEWHERE.format(id=key.id)) from None

    async def _begin(self, key: Key, order: Order, submit: Submit, patience: float | None) -> SessionTurn:
        found, warnings = await self._look_up(key)
        if order.reset and found is not None:
            await self._until_idle(key, found, patience)
        thread, how, spec = await self._open(key, found, order)
        session = self._wished(key, found, thread, how, spec)
        turn_spec = order.turn
        if how is Resumed.NATIVE:
            # The model is always named: an earlier turn may have failed with another one.
            settings = TurnSettings(model=session.model or None, effort=effort_of(spec))
            turn_spec = replace(turn_spec, settings=settings)
            if found is not None and thread.loading.loss is not None:
                turn_spec = replace(turn_spec, prompt=fallback_prompt(found.recent, turn_spec.prompt))
            if changed := changed_settings(spec, order.spec, order.given):
                warnings.append(KEEPS.format(id=key.id, names=", ".join(changed)))
        elif how is Resumed.FALLBACK and found is not None:
            turn_spec = replace(turn_spec, prompt=fallback_prompt(found.recent, turn_spec.prompt))
            warnings.append(GONE.format(id=key.id, turns=len(found.recent)))
        continues = how in (Resumed.NATIVE, Resumed.FALLBACK)
        begun = session if how is not Resumed.NATIVE or found is None else replace(found, used=session.used)
        again: Again | None = None
        try:
            turns = (await self._store.begin_turn(key, begun, continues=continues)).turns
        except Unavailable as exc:
            warnings.append(NOT_SAVED.format(id=key.id, why=exc))
            turns = 0 if found is None or not continues else found.turns
            again = partial(self._store.begin_turn, key, begun, continues=continues)
        turn = submit(thread, turn_spec)
        turn.record.warn(dict.fromkeys([*order.warnings, *warnings]))
        self._note(replace(session, turns=turns), thread, turn, how)
        use = SessionTurn(key, session, thread, turn, (order.turn.prompt, how))
        use.begin_again = again
        return use

    def _wished(
        self, key: Key, found: NamedSession | None, thread: Thread, how: Resumed, spec: ThreadSpec
    ) -> NamedSession:
        """The session as it will be if the turn succeeds: a model that fails is not kept."""
        now = time.time()
        before = found.model if found is not None and how is Resumed.NATIVE else ""
        model = spec.model or before or thread.opened.model
        return NamedSession(id=key.id, created=now, used=now, thread=thread.id, model=model, spec=spec)

    async def _look_up(self, key: Key) -> tuple[NamedSession | None, list[str]]:
        """The session as it was, if it exists, and warnings about the store."""
        try:
            found = await self._store.get(key)
        except Unavailable as exc:
            return None, [NOT_SAVED.format(id=key.id, why=exc)]
        is_old = found is not None and is_expired(found.used, time.time(), self._ttl) and self._running[key] == 1
        return None if is_old else found, [self._store.trouble] if self._store.trouble else []

    async def _until_idle(self, key: Key, found: NamedSession, patience: float | None) -> None:
        thread = self._threads.known(found.thread, key.principal)
        if thread is None:
            return
        try:
            async with asyncio.timeout(patience):
                await thread.own.quiesce()  # nobody names the thread after this, and a goal may have no end
                await thread.until_idle()
        except TimeoutError:
            raise Refused(BUSY.format(id=key.id, thread=thread.id)) from None

    async def _open(self, key: Key, found: NamedSession | None, order: Order) -> tuple[Thread, Resumed, ThreadSpec]:
        if found is None or not found.thread or order.reset:
            thread = await self._threads.start(order.spec, key.principal)
            is_reset = order.reset and found is not None
            return thread, Resumed.RESET if is_reset else Resumed.NEW, order.spec
        known = self._threads.known(found.thread, key.principal)
        noted = None if known is None else self._conversations.get(known)
        queued = found.spec if noted is None or not noted.unsaved else noted.session.spec
        spec = with_wishes(queued, order.model, order.effort)
        try:
            thread = await self._resume(found.thread, key.principal, spec)
            loss = thread.loading.loss
            if loss is None or not loss.is_total or not found.recent:
                return thread, Resumed.NATIVE, spec
            logger.info("session %s needs a new thread: %s", key.id, loss.for_caller)
            await self._threads.unload(thread)
        except (ThreadNotFound, ThreadUnusable, CannotResume, BadThreadId) as exc:
            logger.info("session %s needs a new thread: %s", key.id, exc)
        thread = await self._threads.start(spec, key.principal)
        return thread, Resumed.FALLBACK if found.recent else Resumed.NEW, spec

    async def _resume(self, thread_id: str, principal: str, spec: ThreadSpec) -> Thread:
        deadline = time.monotonic() + HELD_PATIENCE
        while True:
            try:
                thread = await self._threads.find(thread_id, principal, spec)
                if thread.idle:  # it may be known here, and be open in the Codex of another server
                    await thread.loading.load(thread.id, thread.spec)
                return thread
            except ThreadHeld:
                if time.monotonic() >= deadline:
                    raise
            await asyncio.sleep(LOOK_INTERVAL / 2)

    def _note(self, session: NamedSession, thread: Thread, turn: Turn, how: Resumed) -> None:
        for each in [each for each in self._conversations if self._threads.open_thread(each.id) is not each]:
            del self._conversations[each]
        noted = self._conversations.setdefault(thread, _Conversation(session))
        noted.session, noted.resumed = session, how
        noted.unsaved.append(turn)

    async def _follow(self, use: SessionTurn) -> None:
        try:
            outcome = await use.turn.wait()
            turns = None
            if use.session.thread != use.thread.id:
                await self._rename(use)
            if outcome.status is Status.COMPLETED:
                turns = await self._add(use, outcome.content)
            self._counted(use, turns)
        finally:
            use.saved.set()
            self._saving.discard(use)
        await use.turn.left.wait()
        self._left(use.key, use.thread)

    async def _rename(self, use: SessionTurn) -> None:
        """An old Codex names a thread when its first turn begins."""
        try:
            await self._store.rename_thread(use.key, use.session.thread, use.thread.id)
        except Unavailable as exc:
            logger.warning("%s", NOT_SAVED.format(id=use.key.id, why=exc))

    async def _add(self, use: SessionTurn, answer: str) -> int | None:
        """Save a turn that succeeded; return how many there are now, or None if that is not known."""
        session = replace(use.session, thread=use.thread.id, used=time.time())
        try:
            if use.begin_again is not None:
                await use.begin_again()
            return (await self._store.add_turn(use.key, session, use.prompt, answer)).turns
        except Unavailable as exc:
            use.trouble = NOT_SAVED.format(id=use.key.id, why=exc)
            logger.warning("%s", use.trouble)
            return None

    def _counted(self, use: SessionTurn, turns: int | None) -> None:
        noted = self._conversations.get(use.thread)
        if noted is None:
            return
        if turns is None and use.turn.outcome.status is Status.COMPLETED:
            turns = noted.session.turns + 1
        noted.unsaved.remove(use.turn)
        noted.session = noted.session if turns is None else replace(noted.session, turns=turns)

    def _left(self, key: Key, thread: Thread | None) -> None:
        self._running[key] -= 1
        if self._running[key]:
            return
        del self._running[key]
        self._locks.free(key)
        if thread is not None:
            self._idle[key] = thread
            if self._looking is None or self._looking.done():
                self._looking = self._tasks.spawn(self._look(), name="wanted sessions")

    async def _look(self) -> None:
        """Unload idle threads whose sessions another server has taken, until none is left."""
        while self._idle:
            await asyncio.sleep(LOOK_INTERVAL)
            for key, thread in list(self._idle.items()):
                if self._threads.open_thread(thread.id) is not thread:
                    self._idle.pop(key, None)
                elif key not in self._running and self._locks.is_taken(key):
                    self._idle.pop(key, None)
                    logger.info("session %s goes to another server", key.id)
                    await self._threads.unload(thread)
