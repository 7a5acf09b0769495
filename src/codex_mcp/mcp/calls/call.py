"""One `tools/call` while it runs: it watches its turn for the client, and is what the client cancels."""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import AsyncIterator
from typing import Final

from msgspec import UnsetType

from codex_mcp.base.errors import Explained
from codex_mcp.base.futures import Waiter, resolve
from codex_mcp.base.logs import Subject
from codex_mcp.base.settings.calls import soft_deadline_for
from codex_mcp.base.settings.groups import Settings
from codex_mcp.base.settings.kinds import Events
from codex_mcp.codex.events.translator import Event
from codex_mcp.mcp.asking.ladder import Asker
from codex_mcp.mcp.asking.presence import Unattended
from codex_mcp.mcp.calls.progress import Heartbeat
from codex_mcp.mcp.client import Client
from codex_mcp.threads.questions.decisions import Decision
from codex_mcp.threads.questions.questions import Question
from codex_mcp.threads.record import Outcome
from codex_mcp.threads.thread import Thread
from codex_mcp.threads.turn import Turn
from codex_mcp.wire import mcp
from codex_mcp.wire.jsonrpc import Id

logger = logging.getLogger(__name__)

ASKING: Final = "waiting for an approval"


class GivenUp(Explained):
    """The call was cancelled before it had a turn, and what it waited for did not come in time."""


class Call:
    """The audience of a turn, on behalf of one request of the client."""

    def __init__(
        self, client: Client, request_id: Id, params: mcp.CallTool, settings: Settings, subject: Subject
    ) -> None:
        self.request_id = request_id
        self.params = params
        self.subject = subject
        self.principal = subject.principal
        self.caller = ""
        """Who is told its answer."""
        self.is_unread = False
        """The connection that was to read its answer is gone."""
        self.unattended: Unattended | None = None
        """The callers that no person is at, as far as is known."""
        self.events = settings.events
        self._answer_by: float | None = None
        """Set once it is cancelled: then nothing that comes before its turn is waited for any longer."""
        self._opening: asyncio.Timeout | None = None
        self.parks = False
        """What its client cannot be asked waits for somebody else to answer it, in place of being denied."""
        self._client = client
        self._progress_token = params.meta.progress_token
        self._settings = settings
        self._began = asyncio.get_running_loop().time()
        self._activity = "starting"
        self._heartbeat: Heartbeat | None = None
        self._answered = False
        self._turn: tuple[Thread, Turn] | None = None
        self._turn_given: Waiter | None = None
        self._only_waits: Waiter | None = None
        """Of a call that has no turn of its own: cancelled, it stops none, and waits no longer."""

    @property
    def is_stateless(self) -> bool:
        """Its client cannot be asked, and must come again with answers."""
        return self._client.is_stateless

    @property
    def takes_task(self) -> bool:
        """Its client will look after a turn that goes on as a task."""
        return self._client.is_stateless and self._client.has_extension(mcp.TASKS_EXTENSION)

    @property
    def label(self) -> str:
        """The request's id."""
        return str(self.request_id)

    @property
    def can_deliver(self) -> bool:
        """Its answer will reach the caller, as far as is known."""
        return self._answer_by is None and not self.is_unread

    @property
    def is_cancelled(self) -> bool:
        """Its caller took it back."""
        return self._answer_by is not None

    @property
    def thread_id(self) -> str:
        """The thread that it works in, once it has one; for the log."""
        return self._turn[0].id if self._turn is not None else ""

    # -- for the client -----------------------------------------------------------------------------------------------

    def cancel(self) -> None:
        """The client does not want it any longer."""
        if self._answer_by is None:
            self._answer_by = asyncio.get_running_loop().time() + self._settings.interrupt_grace
            if self._opening is not None:
                self._opening.reschedule(self._answer_by)
        if self._turn is not None:
            thread, turn = self._turn
            thread.cancel(turn)
        if self._only_waits is not None:
            resolve(self._only_waits, None)

    # -- for the tool -------------------------------------------------------------------------------------------------

    def begin(self) -> None:
        """From now on the client gets progress, if it asked for it."""
        token = self._progress_token
        if not isinstance(token, UnsetType):

            def send(progress: float, message: str) -> None:
                self._client.notify("notifications/progress", mcp.Progress(token, progress, message), self.request_id)

            self._heartbeat = Heartbeat(send, self._settings.progress_interval, self._activity)

    def end(self) -> None:
        """The call is about to be answered: no progress after that."""
        self._answered = True
        if self._heartbeat is not None:
            self._heartbeat.stop()
            self._heartbeat = None

    def patience(self, asked: float | None) -> float | None:
        """Seconds that remain until the call must be answered; None is no limit. `asked` is the caller's own limit."""
        limit = asked or None
        if asked is None:
            has_token = not isinstance(self._progress_token, UnsetType)
            limit = soft_deadline_for(self._client.name, self._settings.calls, has_progress_token=has_token)
        if limit is None:
            return None
        return max(0.0, limit - (asyncio.get_running_loop().time() - self._began))

    @contextlib.asynccontextmanager
    async def opening(self) -> AsyncIterator[None]:
        """While its thread is opened: should the client cancel, that is waited for no longer than a turn's end is.

        Raises GivenUp.
        """
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

    async def follow(self, thread: Thread, turn: Turn, patience: float | None) -> Outcome:
        """Wait for a turn of this call, and stop it if the client cancels. What it has to ask ends the wait, too."""
        self._turn = (thread, turn)
        turn.audience = self
        if self._turn_given is not None:
            resolve(self._turn_given, None)
        if self._answer_by is not None:
            thread.cancel(turn)
        if not thread.is_named:
            await turn.until_named()  # whoever is told of it now must be able to ask for it later
        waiter: Waiter = asyncio.get_running_loop().create_future()
        turn.watch(waiter)
        if self._client.is_stateless:
            turn.parked.watch(waiter)
        if self.parks:  # a turn that waits behind one that asks does not begin before that is answered
            for each in thread.unfinished():
                each.parked.watch(waiter)
        await self._wait(waiter, patience)
        return turn.outcome

    async def wait_for(self, waiter: Waiter, patience: float | None) -> bool:
        """Wait until this is told, the client cancels, or time is up. True: it was told."""
        self._only_waits = waiter
        if self._answer_by is not None:
            resolve(waiter, None)
        await self._wait(waiter, patience)
        return self._answer_by is None and not waiter.cancelled()

    async def _wait(self, waiter: Waiter, patience: float | None) -> None:
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(patience):
                await waiter

    # -- for the turn -------------------------------------------------------------------------------------------------

    def event_happened(self, thread_id: str, event: Event) -> None:
        """Send it on as `codex/event`."""
        # A stateless request is over with its answer; nothing may be said about it afterwards.
        if self.events is Events.NONE or (self._answered and self._client.is_stateless):
            return
        meta = mcp.EventMeta(self.request_id, thread_id)
        self._client.notify("codex/event", mcp.CodexEvent(meta, event.msg, event.turn_id), self.request_id)

    def activity_changed(self, activity: str) -> None:
        """Tell the client with the next progress."""
        self._activity = activity
        if self._heartbeat is not None:
            self._heartbeat.activity_changed(activity)

    async def ask(self, question: Question) -> Decision:
        """Ask the person at the client."""
        before = self._activity
        self.activity_changed(ASKING)
        try:
            return await self._asker.ask(question)
        finally:
            # What was asked for goes on now, and the core does not announce it again.
            if self._activity == ASKING:
                self.activity_changed(before)

    def can_be_asked(self, question: Question) -> bool:
        """Is this a question that its client can put to a person?"""
        return self._asker.why_not(question) is None

    @property
    def _asker(self) -> Asker:
        return Asker(
            client=self._client,
            caller=self.caller,
            request_id=self.request_id,
            turn=self._own_turn,
            unattended=self.unattended or Unattended(),
            lists=self.parks,
            timeout=self._settings.approval_timeout,
        )

    async def _own_turn(self) -> Turn:
        """The turn that it follows. A fast core may ask something before it does."""
        if self._turn is None:
            self._turn_given = self._turn_given or asyncio.get_running_loop().create_future()
            await asyncio.wait([self._turn_given])
        assert self._turn is not None
        return self._turn[1]
