"""One `tools/call` while it runs: it reports its turn to the client, and the client can cancel it."""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Final, Protocol

from msgspec import Struct, UnsetType

from codex_mcp.base.errors import Explained
from codex_mcp.base.futures import Waiter, resolve
from codex_mcp.base.logs import Subject
from codex_mcp.base.principals import LOCAL
from codex_mcp.base.settings.calls import CallSettings
from codex_mcp.base.settings.kinds import Events, OnClientTimeout
from codex_mcp.codex.core import Event
from codex_mcp.mcp.asking.asker import Asker
from codex_mcp.mcp.asking.ladder import Obstacle, Step, Unattended
from codex_mcp.mcp.calls.client_budgets import LearnedLimits, Whose, silent_limit, soft_deadline_for, usual_limit
from codex_mcp.mcp.calls.progress import Heartbeat
from codex_mcp.mcp.client import Client
from codex_mcp.mcp.known_clients import is_time_out, known_client
from codex_mcp.mcp.schema.answer_size import Reader, reader_for
from codex_mcp.threads.questions.board import Answer
from codex_mcp.threads.questions.decisions import Decision
from codex_mcp.threads.questions.questions import Question
from codex_mcp.threads.thread import Thread
from codex_mcp.threads.turn import Turn
from codex_mcp.wire import mcp
from codex_mcp.wire.glances import Part
from codex_mcp.wire.jsonrpc import Id

logger = logging.getLogger(__name__)

ASKING: Final = "waiting for an approval"
TIME_IS_UP: Final = "timed out"
"""The reason of a client whose time is up."""


class GivenUp(Explained):
    """The call was cancelled before it had a turn, and its thread was not opened in time."""


class CallRequest(Struct, frozen=True):
    id: Id
    params: mcp.CallTool
    subject: Subject
    caller: str = ""
    """Whom news is reported to: a session, or the client of a stateless request."""
    root: Callable[[], Awaitable[str | None]] | None = None
    """Tells the client's only root."""
    is_local: bool = False
    """Its client has started the server."""
    principal: str = LOCAL
    """Whose threads it may use."""
    session: object = None
    """That of its client, for what is loaded later."""
    is_forwarded: bool = False
    """Another server has passed it on to this one, which passes it on to none."""
    is_view: bool = False
    """A person looks at what it answers."""


class Elsewhere(Protocol):
    """The server that does the work of a call in our place."""

    def cancelled(self, reason: str | None) -> None:
        """The client cancels the call."""

    def hung_up(self) -> None:
        """Its connection is gone."""


class Call:
    """The audience of a turn, on behalf of one request of the client."""

    def __init__(
        self, client: Client, request: CallRequest, settings: CallSettings, limits: LearnedLimits | None = None
    ) -> None:
        self.request_id = request.id
        self.label = str(request.id)
        self.params = request.params
        self.subject = request.subject
        self.principal = request.principal
        self.caller = request.caller
        self._root = request.root
        self._is_local = request.is_local
        self.is_unread = False
        """The connection that was to read its answer is gone."""
        self.has_left = False
        """Its client does not wait for the answer any more, and has not stopped the work."""
        self._may_have_left = False
        """Its client may have stopped waiting without a word. It is answered all the same."""
        self.events = settings.events or (Events.STANDARD if client.takes_events else Events.NONE)
        self._answer_by: float | None = None
        """Set once it is cancelled: the time until which its thread may still be opened."""
        self._opening: asyncio.Timeout | None = None
        self._lists = False
        self._unattended: Unattended | None = None
        self._client = client
        self._progress_token = request.params.meta.progress_token
        self._settings = settings
        self._limits = limits or LearnedLimits()
        self._began = asyncio.get_running_loop().time()
        self._activity = "starting"
        self._heartbeat: Heartbeat | None = None
        self._answered = False
        self._turn: tuple[Thread, Turn] | None = None
        self._only_waits: Waiter | None = None
        """Resolved by a cancel, if the call has no turn of its own."""
        self._follows: Waiter | None = None
        self._unused: dict[str, str] = {}
        self.session = request.session
        self.is_forwarded = request.is_forwarded
        self.is_view = request.is_view
        self._elsewhere: Elsewhere | None = None

    @property
    def takes_task(self) -> bool:
        """Its client can follow a running turn as a task."""
        return self._client.is_stateless and self._client.has_extension(mcp.TASKS_EXTENSION)

    async def default_folder(self) -> str | None:
        """Where the client works, for a thread without a `cwd`; None if that is not known."""
        return None if self._root is None else await self._root()

    @property
    def part(self) -> Part | None:
        """Set if it looks at our part of a wait that is about agents of several servers."""
        return self.params.meta.part if self.is_forwarded else None

    @property
    def client(self) -> Client:
        """Its client, as it described itself at the handshake or in this call."""
        return self._client

    @property
    def client_name(self) -> str:
        return self._client.name

    def reader(self, limit: int | None) -> Reader:
        """Whom its result is for; `limit` is the setting for long answers."""
        return reader_for(self._client.name, self._client.revision, limit, is_local=self._is_local)

    @property
    def can_deliver(self) -> bool:
        return not (self.is_cancelled or self.is_unread or self.has_left or self._may_have_left)

    @property
    def is_cancelled(self) -> bool:
        return self._answer_by is not None

    @property
    def thread_id(self) -> str:
        """The thread of its turn, for the log; empty before there is one."""
        return self._turn[0].id if self._turn is not None else ""

    def done_by(self, elsewhere: Elsewhere) -> None:
        """Another server does its work, and reports its progress."""
        self._elsewhere = elsewhere
        self._stop_heartbeat()
        if self.is_cancelled:
            elsewhere.cancelled(None)
        elif self.has_left:
            elsewhere.cancelled(TIME_IS_UP)

    def cancel(self) -> None:
        """Stop its turn; if it has none yet, or only waits, answer it soon."""
        if self._elsewhere is not None:
            self._elsewhere.cancelled(None)
        if self._answer_by is None:
            self._answer_by = asyncio.get_running_loop().time() + self._settings.interrupt_grace
            if self._opening is not None:
                self._opening.reschedule(self._answer_by)
        if self._turn is not None:
            thread, turn = self._turn
            thread.cancel(turn)
        if self._only_waits is not None:
            resolve(self._only_waits, None)

    def cancelled(self, reason: str) -> None:
        """The client cancels it. If only its time is up, the turn goes on, and `codex_wait` returns its answer."""
        if self._elsewhere is not None:
            self._elsewhere.cancelled(reason)
        if is_time_out(reason) and self._settings.on_client_timeout is OnClientTimeout.CONTINUE:
            self._gave_up(self._elapsed)
        else:
            self.cancel()

    def hung_up(self) -> None:
        """Its connection is gone, and it was the only one to read the answer."""
        if self._elsewhere is not None:
            self._elsewhere.hung_up()
        hangs_up_to_cancel = known_client(self._client.name).hangs_up_to_cancel
        if hangs_up_to_cancel or self._settings.on_client_timeout is OnClientTimeout.STOP:
            self.cancel()
        else:
            self._gave_up(usual_limit(self._elapsed))

    def news_wanted(self, wait: mcp.CallTool) -> None:
        """Its client calls `codex_wait` although this call is unanswered: its time may be up, which it may not say.

        Then `codex_wait` returns the answer, also if this call does. A client that waits twice for the same news has
        given up the first wait.
        """
        limit = silent_limit(self._elapsed)
        is_silent = known_client(self._client.name).gives_up_silently and not self._client.is_stateless
        if limit is None or not is_silent or self._settings.on_client_timeout is OnClientTimeout.STOP:
            return
        if self.params.name != wait.name:
            self._may_have_left = True
        elif self.params.arguments == wait.arguments:
            self._gave_up(limit)

    def _gave_up(self, limit: float | None) -> None:
        if limit is not None:
            self._limits.gave_up(self._whose, limit)
        self.has_left = True
        for waiter in (self._follows, self._only_waits):
            if waiter is not None:
                resolve(waiter, None)

    @property
    def _elapsed(self) -> float:
        return asyncio.get_running_loop().time() - self._began

    @property
    def _has_token(self) -> bool:
        return not isinstance(self._progress_token, UnsetType)

    @property
    def _whose(self) -> Whose:
        return Whose(self.principal, self._client.name.lower(), self._has_token)

    def answer_unread(self) -> None:
        self.is_unread = True

    def answer_read_again(self) -> None:
        self.is_unread = False

    def begin(self, *, lists: bool = False, unattended: Unattended | None = None) -> None:
        """Send progress from now on, if the client asked for it. `lists`: questions can be put on a list.

        `unattended` holds the callers that are known to have no person.
        """
        self._lists = lists
        self._unattended = unattended
        token = self._progress_token
        if not isinstance(token, UnsetType):

            def send(progress: float, message: str) -> None:
                self._client.notify("notifications/progress", mcp.Progress(token, progress, message), self.request_id)

            self._heartbeat = Heartbeat(send, self._settings.progress_interval, self._activity)

    def end(self) -> None:
        """Stop progress: the call is about to be answered."""
        self._answered = True
        self._stop_heartbeat()

    def _stop_heartbeat(self) -> None:
        if self._heartbeat is not None:
            self._heartbeat.stop()
            self._heartbeat = None

    def patience(self, asked: float | None) -> float | None:
        """Seconds left until the call must be answered, or None; `asked` is the limit that the caller gave."""
        limit = asked or None
        if asked is None:
            limit = soft_deadline_for(self._client.name, self._settings, has_progress_token=self._has_token)
        learned = self._limits.deadline(self._whose)
        limits = [each for each in (limit, learned) if each is not None]
        return max(0.0, min(limits) - self._elapsed) if limits else None

    @contextlib.asynccontextmanager
    async def opening(self) -> AsyncIterator[None]:
        """While its thread is opened: a cancel limits this to `interrupt_grace`. Raises GivenUp."""
        limit = self._opening = asyncio.timeout_at(self._answer_by)
        try:
            async with limit:
                yield
        except TimeoutError as exc:
            if not limit.expired():
                raise
            grace = self._settings.interrupt_grace
            raise GivenUp(f"The call was cancelled, and Codex had not opened its thread {grace:g} s later.") from exc
        finally:
            self._opening = None

    async def follow(self, thread: Thread, turn: Turn, patience: float | None) -> None:
        """Wait for a turn of this call, and stop it if the client cancels. A parked question ends the wait as well."""
        self._turn = (thread, turn)
        turn.audience = self
        if self._answer_by is not None:
            thread.cancel(turn)
        if not thread.is_named:
            await turn.until_named()  # the client needs the id in order to ask for the thread later
        waiter: Waiter = asyncio.get_running_loop().create_future()
        turn.watch(waiter)
        if self._lists:
            # A question of an earlier turn matters too: this one does not begin before it is answered.
            for each in thread.unfinished():
                each.parked.watch(waiter)
        elif self._client.is_stateless:
            turn.parked.watch(waiter)
        self._follows = waiter
        await self._wait(waiter, 0.0 if self.has_left else patience)

    async def wait_for(self, waiter: Waiter, patience: float | None) -> bool:
        """Wait until this is resolved, the client cancels, or time is up. True: it was resolved."""
        self._only_waits = waiter
        if self._answer_by is not None or self.has_left:
            resolve(waiter, None)
        await self._wait(waiter, patience)
        return self._answer_by is None and not self.has_left and not waiter.cancelled()

    async def _wait(self, waiter: Waiter, patience: float | None) -> None:
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(patience):
                await waiter

    def event_happened(self, thread_id: str, event: Event) -> None:
        # A stateless request ends with its answer; no notification may follow.
        if self.events is Events.NONE or (self._answered and self._client.is_stateless):
            return
        meta = mcp.EventMeta(self.request_id, thread_id)
        self._client.notify("codex/event", mcp.CodexEvent(meta, event.msg, event.turn_id), self.request_id)

    def activity_changed(self, activity: str) -> None:
        self._activity = activity
        if self._heartbeat is not None:
            self._heartbeat.activity_changed(activity)

    async def ask(self, question: Question, turn: Turn) -> Answer:
        before = self._activity
        self.activity_changed(ASKING)
        try:
            return await self._asker(turn).ask(question)
        finally:
            # The core does not announce again what it was doing before.
            if self._activity == ASKING:
                self.activity_changed(before)

    def fetches(self, question: Question) -> bool:
        """Is this a parked question that its client fetches, with `input_required`?"""
        return self._asker().route(question).step is Step.FETCH

    def answered(self, question: Question, answer: object, seconds: float) -> Decision | Obstacle:
        return self._asker().answered(question, answer, seconds)

    def answer_not_used(self, turn: Turn, why: str) -> None:
        """It brought an answer to a question of this turn that has come to its end in another way."""
        self._unused[turn.name] = why

    def unused(self, turn: Turn) -> list[str]:
        """What its result says of answers that it brought for this turn and that were not used."""
        return [self._unused[turn.name]] if turn.name in self._unused else []

    def send_events(self, asked: Events | None) -> None:
        """Send these events, if its arguments ask for any."""
        self.events = asked or self.events

    def _asker(self, turn: Turn | None = None) -> Asker:
        return Asker(
            client=self._client,
            caller=self.caller,
            request_id=self.request_id,
            turn=turn,
            unattended=self._unattended or Unattended(),
            lists=self._lists,
            timeout=self._settings.approval_timeout,
        )
