"""All open threads of a server: starts and finds them, routes messages of the core to them, unloads idle ones."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import time
from collections.abc import Awaitable, Callable, Coroutine, Iterator
from functools import partial
from typing import TYPE_CHECKING, Any, Final

from msgspec.structs import replace

from codex_mcp.base.errors import Refused
from codex_mcp.base.principals import LOCAL, account
from codex_mcp.base.settings.calls import CallSettings
from codex_mcp.base.settings.core import CoreSettings
from codex_mcp.base.tasks import TaskSet
from codex_mcp.codex.core import (
    CannotResume,
    Core,
    CoreError,
    CoreLost,
    OpenedThread,
    ThreadNotFound,
    ThreadSpec,
    Told,
    TurnSpec,
    plain_id,
)
from codex_mcp.codex.facts import Fact, QuestionWithdrawn, TurnStarted
from codex_mcp.codex.supervisor import Launcher, Supervisor
from codex_mcp.git.turn_looks import TurnLooks
from codex_mcp.rpc.peer import Pace
from codex_mcp.threads.answering import refuse
from codex_mcp.threads.callers import Callers
from codex_mcp.threads.changes import ChangeListener, Changes, Counts
from codex_mcp.threads.context import ThreadContext, TurnJournal
from codex_mcp.threads.limits.account import NOT_SIGNED_IN, Account
from codex_mcp.threads.limits.admission import Admission
from codex_mcp.threads.limits.quotas import Queued, all_busy, over_quota, size_of
from codex_mcp.threads.loading import Early, KeptSpecs, opened_by
from codex_mcp.threads.observers import Observers, TurnListener
from codex_mcp.threads.open_questions import Board
from codex_mcp.threads.own.family import Family
from codex_mcp.threads.questions.tool_calls import ToolCalls
from codex_mcp.threads.thread import Thread
from codex_mcp.wire.app.notifications import OtherNotification
from codex_mcp.wire.app.questions import Asked
from codex_mcp.wire.jsonrpc import Id

if TYPE_CHECKING:
    from codex_mcp.state.contract import Owners

logger = logging.getLogger(__name__)

SWEEP_INTERVAL: Final = 30.0
"""Seconds between two searches for idle threads, which are unloaded after minutes."""


class Threads:
    def __init__(
        self, core: CoreSettings, settings: CallSettings, launch: Launcher, pace: Pace, owners: Owners | None = None
    ) -> None:
        self._settings = settings
        self._default_environment = core.default_environment
        self._owners = owners
        """None: every thread belongs to the local principal."""
        self.account = Account(settings.prices)
        self._admission = Admission(settings.turns_per_principal, self.account)
        self.supervisor = Supervisor(core, self, launch, pace)
        self.counts = Counts()
        self.changes = Changes()
        self.observers = Observers()
        self.looks = TurnLooks(core.codex_home)
        self.callers = Callers()
        self.board = Board()
        self.tool_calls = ToolCalls()
        self._listener = ChangeListener(self.changes, self.counts, self.account)
        self._threads: dict[str, Thread] = {}
        self._opening: dict[str, asyncio.Task[Thread]] = {}
        self.early = Early()
        self._journal: TurnJournal | None = None
        self._family = Family()
        self.unloaded = KeptSpecs()
        """The settings of threads that were open here; nothing of them is left to collect."""
        self._core_listeners: list[Callable[[OtherNotification], None]] = []
        self._signed_in: Core | None = None
        self._tasks = TaskSet()
        self._sweeping: asyncio.Task[None] | None = None

    @property
    def interrupt_grace(self) -> float:
        return self._settings.interrupt_grace

    def __iter__(self) -> Iterator[Thread]:
        return iter(list(self._threads.values()))

    def listen(self, listener: TurnListener) -> None:
        self._listener.pass_on_to(listener)

    def keep_journal(self, journal: TurnJournal) -> None:
        """Write down each turn before it is sent, because turns outlive this server."""
        self._journal = journal

    def listen_to_core(self, listener: Callable[[OtherNotification], None]) -> None:
        """Tell this one, which must not raise, about changes of the core as a whole, such as its account."""
        self._core_listeners.append(listener)

    async def start(self, spec: ThreadSpec, principal: str = LOCAL) -> Thread:
        """Start a new thread for this principal. Raises CoreError or Refused.

        If the caller is cancelled, the thread is still opened and stays idle.
        """
        mine = account(principal)
        self._check_quota(mine)
        starting = self._with_core(lambda core: self._start(core, spec, principal, mine))
        return await opened_by(self._tasks.spawn(starting, name="start of a thread"))

    def archived(self, thread_id: str) -> None:
        """Codex has moved the thread away: forget its callers and its settings."""
        self.callers.forget(thread_id)
        self.unloaded.pop(thread_id, None)

    async def owner_of(self, thread_id: str) -> str:
        """The principal of a thread, open or not. An unknown thread belongs to the local principal."""
        return LOCAL if self._owners is None else await self._owners.owner(plain_id(thread_id))

    async def _with_core(self, open_thread: Callable[[Core], Awaitable[Thread]]) -> Thread:
        """Open a thread in the running core, or in the next one if that turns out to be dead."""
        core = await self.supervisor.core()
        try:
            return await open_thread(core)
        except CoreLost:
            following = await self.supervisor.core()
            if following is core:
                raise
            return await open_thread(following)

    async def _start(self, core: Core, spec: ThreadSpec, principal: str, account: str) -> Thread:
        async with self._admission.opening(account):
            await self._make_room(account)
            with self.early.opening():
                opened = await core.start_thread(spec)
                await self._check_signed_in(core, spec, opened)
                await self._record_owner(opened.thread_id, principal)
                return self._add(opened, spec, core, principal)

    async def find(
        self, thread_id: str, principal: str = LOCAL, spec: ThreadSpec | None = None, *, shared: bool = False
    ) -> Thread:
        """A thread of this principal, resumed from disk if it is not open. Raises CoreError or Refused.

        A resumed thread has the settings that it had here, or those of `spec` if it was not open here before. The
        core is not asked about another principal's thread, nor about an unknown one unless the principal is local:
        neither the answer nor its timing tells the two apart. `shared`: it may open every principal's threads.
        """
        thread_id = plain_id(thread_id)
        thread = self._threads.get(thread_id)
        if thread is None or thread.principal != principal:
            if not shared and await self.owner_of(thread_id) != principal:
                raise ThreadNotFound(f"no thread {thread_id}")
            thread = self._threads.get(thread_id)  # it may have been opened in the meantime
        if thread is not None:
            if thread.gone:
                raise CannotResume(thread.gone)
            return thread
        opening = self._opening.get(thread_id)
        if opening is None:
            own = self._family.own(thread_id)
            resuming = self._with_core(lambda core: self._resume(core, own, principal, spec))
            opening = self._opening[thread_id] = self._tasks.spawn(resuming, name=f"resume of {thread_id}")
            opening.add_done_callback(lambda _: self._opening.pop(thread_id, None))
        return await opened_by(opening)

    def known(self, thread_id: str, principal: str = LOCAL) -> Thread | None:
        thread = self._threads.get(plain_id(thread_id))
        return thread if thread is not None and thread.principal == principal else None

    def open_thread(self, thread_id: str) -> Thread | None:
        """An open thread of any principal."""
        return self._threads.get(thread_id)

    def of(self, principal: str) -> list[Thread]:
        return [thread for thread in self._threads.values() if thread.principal == principal]

    async def _record_owner(self, thread_id: str, principal: str) -> None:
        if self._owners is not None:
            await self._owners.record(thread_id, principal)

    async def _resume(self, core: Core, thread_id: str, principal: str, given: ThreadSpec | None) -> Thread:
        mine = account(principal)
        await self._make_room(mine)
        with self.early.opening():
            spec = self.unloaded.get(thread_id) or given or ThreadSpec()
            async with self._admission.opening(mine):
                opened = await core.resume_thread(thread_id, spec)
            self.unloaded.pop(thread_id, None)
            if self._default_environment is not None and spec.environment is None:
                spec = replace(spec, environment=self._default_environment, cwd=opened.cwd)
            return self._add(opened, spec, core, principal)

    async def _check_signed_in(self, core: Core, spec: ThreadSpec, opened: OpenedThread) -> None:
        """Fail early: Codex would try for minutes to reach a model that it may not use.

        The thread must be open: only then does Codex know which provider its configuration names.
        """
        if self._signed_in is core or any(key.startswith("model_provider") for key in spec.config):
            return
        account = await core.account()
        if account.requires_openai_auth and account.account is None:
            await core.unload_thread(opened.thread_id)
            if not self._threads:  # Codex reads the sign-in only when it starts; a thread without a turn would be lost
                await self.supervisor.retire(core)
            raise CoreError(NOT_SIGNED_IN)
        self._signed_in = core

    def _add(self, opened: OpenedThread, spec: ThreadSpec, core: Core, principal: str) -> Thread:
        thread = self.thread_rejoined(opened, spec, core, principal)
        self.catch_up(thread)
        return thread

    def thread_rejoined(self, opened: OpenedThread, spec: ThreadSpec, core: Core, principal: str) -> Thread:
        """A thread that is open from now on. It has to `catch_up`."""
        mine = account(principal)
        context = ThreadContext(
            settings=self._settings,
            cores=self.supervisor,
            listener=self._listener,
            observers=self.observers,
            principal=principal,
            account=mine,
            admission=self._admission,
            looks=self.looks,
            board=self.board,
            journal=self._journal,
            check_quota=partial(self._check_quota, mine),
        )
        thread = Thread(opened, spec, core, context)
        self._threads[thread.id] = thread
        return thread

    def catch_up(self, thread: Thread) -> None:
        """Tell an opened thread what was said of it before its opening was answered."""
        self.changes.tell(thread.id)
        for told, fact in self.early.taken(thread.id):
            thread.notification_received(told, fact)
        if self._sweeping is None:
            self._sweeping = self._tasks.spawn(self._sweep(), name="sweep of idle threads")

    def _check_quota(self, account: str, spec: TurnSpec | None = None) -> None:
        """Check that this account may open another thread or queue another turn. Raises Refused."""
        mine = (thread for thread in self if thread.account == account)
        waiting = [turn for thread in mine for turn in thread.unfinished() if turn.core is None]
        turns = max(len(waiting), self._admission.waiting(account))
        why = over_quota(self._settings, Queued(turns, sum(size_of(turn.spec) for turn in waiting)), spec)
        if why:
            raise Refused(why)

    async def _make_room(self, account: str) -> None:
        """Unload the least recently used thread of this account if it has reached its limit."""
        threads = [thread for thread in self if thread.account == account]
        if len(threads) < self._settings.threads_per_principal:
            return
        idle = [thread for thread in threads if thread.is_quiet]
        if not idle:
            raise Refused(all_busy(len(threads)))
        await self.unload(min(idle, key=lambda thread: thread.used_at))

    def notification_received(self, thread_id: str, told: Told | None, fact: Fact | None) -> None:
        """Pass it to its thread; what concerns the core as a whole goes to every busy thread."""
        thread = self._threads.get(thread_id)
        if thread is not None:
            if told is not None and thread_id in self.observers.readers:
                self.observers.tell_message(thread_id, told)
            thread.notification_received(told, fact)
            return
        self._family.told(thread_id, self._threads.values(), told, fact)
        parent = self._threads.get(self._ancestor(thread_id))
        if parent is not None and isinstance(fact, QuestionWithdrawn):
            parent.notification_received(None, fact)  # which has asked it
        elif parent is not None:
            parent.own.subagent_told(thread_id, fact)
        elif not thread_id:
            self._core_told(told, fact)
        elif isinstance(fact, TurnStarted) and thread_id not in self._opening and thread_id not in self.early.joining:
            logger.warning("Codex has begun a turn in thread %s, which is not open here; it is stopped", thread_id)
            self._tasks.spawn(self._stop(thread_id, fact.turn_id), name=f"stop of a turn in {thread_id}")
        else:
            self.early.keep(thread_id, told, fact)

    async def _stop(self, thread_id: str, turn_id: str) -> None:
        """Interrupt a turn that belongs to none of our threads: nobody would see it, count it or limit it."""
        with contextlib.suppress(CoreError):
            await (await self.supervisor.core()).interrupt_turn(thread_id, turn_id)

    def _core_told(self, told: Told | None, fact: Fact | None) -> None:
        self.account.core_told(told)
        if isinstance(told, OtherNotification):
            for listener in self._core_listeners:
                listener(told)
        for busy in self:
            if not busy.idle:
                busy.notification_received(told, fact)

    def question_received(self, question_id: Id, asked: Asked) -> Coroutine[Any, Any, object]:
        """Pass it to the thread that asks, or to its nearest open ancestor."""
        thread = self._threads.get(asked.thread_id) or self._threads.get(self._ancestor(asked.thread_id))
        if thread is not None:
            return self.tool_calls.answer(thread.id, asked) or thread.question_received(question_id, asked)
        again = partial(self.question_received, question_id, asked)
        if (early := self.early.asked(asked.thread_id, again)) is not None:
            return early
        logger.warning("refused a question of thread %s, which is not open here", asked.thread_id)
        return refuse(asked.method)

    def turn_unreadable(self, thread_id: str, why: str, *, is_question: bool) -> None:
        """Fail the turn of this thread; for a question of a subagent, that of its nearest open ancestor."""
        thread = self._threads.get(self._ancestor(thread_id) if is_question else thread_id)
        if thread is not None:
            thread.turn_unreadable(why)

    def thread_named(self, provisional_id: str, thread_id: str) -> None:
        thread = self._threads.pop(provisional_id, None)
        if thread is None:
            return
        self._tasks.spawn(self._record_owner(thread_id, thread.principal), name=f"owner of {thread_id}")
        thread.named(thread_id)
        self.observers.thread_named(provisional_id, thread_id)
        self._threads[thread_id] = thread

    def _ancestor(self, thread_id: str) -> str:
        return self._family.ancestor(thread_id, self._threads)

    def core_lost(self, core: Core, reason: CoreLost) -> None:
        self._family.clear()
        for thread in self:
            thread.core_lost(core, reason)

    async def _sweep(self) -> None:
        while True:
            await asyncio.sleep(min(SWEEP_INTERVAL, self._settings.thread_idle))
            await self.supervisor.reap_orphans()
            await self.unload_idle(time.monotonic())

    async def unload_idle(self, now: float) -> None:
        """Unload threads that were not used for a while. They are resumed from disk when they are needed."""
        for thread in sorted(self, key=lambda thread: thread.used_at):
            if thread.is_quiet and now - thread.used_at >= self._settings.thread_idle:
                await self.unload(thread)

    async def unload(self, thread: Thread) -> None:
        """Unload an idle thread from the core, and forget it here unless an outcome waits to be collected."""
        if thread.idle:
            await thread.unload()
            self._forget_if_done(thread)

    async def change(self, thread_id: str, spec: ThreadSpec) -> None:
        """Give a thread other settings, with which it is opened next. Raises Refused if it is busy."""
        thread = self._threads.get(thread_id)
        if thread is not None:
            await self.unload(thread)
            if thread_id in self._threads:
                raise Refused(f"thread {thread_id} is in use, so its settings cannot change; wait for its turn to end")
        self.unloaded.keep(thread_id, spec)

    def _forget_if_done(self, thread: Thread) -> None:
        too_many = len(self._threads) > self._settings.finished_turns_kept
        # An outcome that was not collected keeps its thread here, unless there are too many threads.
        if not thread.idle or (thread.uncollected() and not too_many) or self._threads.get(thread.id) is not thread:
            return
        del self._threads[thread.id]
        # Codex does not store a thread's config: without this it would be resumed with other settings.
        self.unloaded.keep(thread.id, thread.spec)

    async def discard(self, thread: Thread) -> None:
        """Stop the unwanted turns of a thread and unload it. A core that hangs is not waited for."""
        for turn in thread.unfinished():
            turn.mark_delivered()
        thread.shut()
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(self._settings.interrupt_grace):
                await thread.until_idle()
                await self.unload(thread)

    async def quiesce(self) -> None:
        """Stop, in all threads, what Codex began by itself: it must not go on when the threads are loaded again."""
        await asyncio.gather(*(thread.own.quiesce() for thread in self))

    async def aclose(self) -> None:
        await self.looks.aclose()
        await self.quiesce()
        for thread in self:
            await thread.aclose()
        await self.supervisor.stop()
        await self._tasks.aclose()
        await self._admission.aclose()
