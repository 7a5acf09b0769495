"""One turn as those who asked for it see it: a prompt, an audience, and an outcome to wait for."""

from __future__ import annotations

import asyncio
import logging
import os
import time
from collections.abc import Callable
from typing import Any, Final, Protocol

from codex_mcp.base.futures import Waiter, Waiters, resolve
from codex_mcp.base.logs import Subject, about_only
from codex_mcp.codex.core import Core, TurnSpec
from codex_mcp.codex.events.translator import Event
from codex_mcp.codex.facts import Fact, ItemEnded
from codex_mcp.threads.parked_questions import ParkedQuestions
from codex_mcp.threads.questions.decisions import Decision
from codex_mcp.threads.questions.questions import Question
from codex_mcp.threads.record import Outcome, Record, Status
from codex_mcp.threads.turn_queue import QueuePlace, Source

logger = logging.getLogger(__name__)

LOGGED_CHARS: Final = 500
"""What the log shows of the reason for which a turn failed."""

NAME_BYTES: Final = 8
"""A name need not be secret, only never be that of another turn."""


class Audience(Protocol):
    """Who watches a turn, and answers for the person behind it."""

    @property
    def label(self) -> str:
        """The id of the request that this is about."""

    @property
    def subject(self) -> Subject:
        """The session, the principal and the request that this is about, for the log."""

    def event_happened(self, thread_id: str, event: Event) -> None:
        """Something for people to look at."""

    def activity_changed(self, activity: str) -> None:
        """The agent does something else now."""

    async def ask(self, question: Question) -> Decision:
        """May it? Never raises; who cannot be asked says no."""


class Turn:
    """A prompt on its way through a thread."""

    def __init__(
        self,
        thread_id: str,
        spec: TurnSpec,
        audience: Audience,
        *,
        full_events: bool,
        source: Source = Source.CALLER,
    ) -> None:
        self.thread_id = thread_id
        """Empty as long as the thread has no id of its own."""
        self.name = os.urandom(NAME_BYTES).hex()
        """Ours, from the beginning: the core gives it an id only when it starts."""
        self.spec = spec
        self.audience = audience
        self.full_events = full_events
        self.place = QueuePlace(source)
        self.parked = ParkedQuestions()
        self.core: Core | None = None
        """The core that was asked to begin it."""
        self.waits_for: asyncio.Future[bool] | None = None
        """Done when the core has room for it (True), or when it is not wanted any longer (False)."""
        self.record = Record(time.monotonic())
        self.stopped: asyncio.Future[None] | None = None
        """Set once somebody wants it to stop; done when its commands are dead."""
        self.item_ended = asyncio.Event()
        """Set whenever one of its items has ended; whoever waits clears it."""
        self.left = asyncio.Event()
        """Set once the core is done with it, or given up: the next one may begin. Its outcome may be known before."""
        self.purpose = "turn"
        """What it is for, in a word for those who keep books."""
        self.caller = ""
        """The caller that asked for it; empty if the server itself did."""
        self.delivered = False
        """Somebody was given the outcome."""
        self._waiters = Waiters()
        self._limit: asyncio.TimerHandle | None = None
        self._patience: asyncio.TimerHandle | None = None
        self._ended: asyncio.Future[Outcome] = asyncio.get_running_loop().create_future()
        self._named: asyncio.Future[None] = asyncio.get_running_loop().create_future()

    def __repr__(self) -> str:
        return f"<Turn of {self.thread_id}: {self.place!r}>"

    @property
    def subject(self) -> Subject:
        """What lines about it carry, in whichever task they are logged."""
        return self.audience.subject._replace(thread=self.thread_id)

    @property
    def ended(self) -> bool:
        """It is over."""
        return self._ended.done()

    @property
    def outcome(self) -> Outcome:
        """How it stands."""
        if self._ended.done():
            return self._ended.result()
        return self.record.outcome(self.thread_id, time.monotonic())

    def thread_named(self, thread_id: str) -> None:
        """Its thread had a provisional id, and has its own now."""
        self.thread_id = thread_id
        resolve(self._named, None)

    async def until_named(self) -> None:
        """Wait until its thread has an id of its own, or it is over."""
        either: list[asyncio.Future[Any]] = [self._named, self._ended]
        await asyncio.wait(either, return_when=asyncio.FIRST_COMPLETED)

    def wait_no_longer(self) -> None:
        """It is not wanted any longer: if it waits for the core to have room, that ends now."""
        resolve(self.waits_for, result=False)

    def limit_time(self, out_of_time: Callable[[], None], seconds: float) -> None:
        """Have this called when it has not ended by then; it has one limit at a time, the one that was set last."""
        if self._limit is not None:
            self._limit.cancel()
        if not self._ended.done():
            self._limit = asyncio.get_running_loop().call_later(seconds, out_of_time)

    def add(self, fact: Fact) -> None:
        """Something happened in it."""
        before = self.record.activity
        self.record.add(fact)
        if self.record.activity != before:
            self.audience.activity_changed(self.record.activity)
        if isinstance(fact, ItemEnded):
            self.item_ended.set()

    def limit_trouble(self, give_up: Callable[[], None], seconds: float) -> None:
        """Have this called when the model has been out of reach for so long; to be said after each fact. 0: never."""
        in_trouble = bool(self.record.trouble) and not self._ended.done()
        if not in_trouble and self._patience is not None:
            self._patience.cancel()
            self._patience = None
        elif in_trouble and self._patience is None and seconds:
            self._patience = asyncio.get_running_loop().call_later(seconds, give_up)

    def conclude(self) -> None:
        """It is over; let everybody go who waits."""
        for timer in (self._limit, self._patience):
            if timer is not None:
                timer.cancel()
        if not self._ended.done():
            outcome = self.record.outcome(self.thread_id, time.monotonic())
            self._log_end(outcome)
            self._ended.set_result(outcome)
            self._waiters.tell()

    def _log_end(self, outcome: Outcome) -> None:
        with about_only(self.subject):
            name = self.place.turn_id or "that never began"
            why = f": {outcome.content[:LOGGED_CHARS]}" if outcome.status is Status.FAILED else ""
            logger.info("turn %s %s after %.1f s%s", name, outcome.status, outcome.seconds, why)

    async def wait(self, timeout: float | None = None) -> Outcome:
        """Wait for the end, or until so many seconds have passed; return how it stands then."""
        await asyncio.wait([self._ended], timeout=timeout)
        return self.outcome

    def watch(self, waiter: Waiter) -> None:
        """Tell this one when it ends; at once if it has."""
        if self._ended.done():
            resolve(waiter, None)
        else:
            self._waiters.add(waiter)
