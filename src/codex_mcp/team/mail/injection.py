"""Gives unread mail to idle agents as turns: after each turn, and when an inbox changes.

Mail is offered only to an idle agent, so a caller that waits always comes first; only urgent mail may be added to a
running turn, and becomes the next one if the model does not read it there. One delivery at a time per agent: the
messages are recorded as offered, the turn is queued, and when the core has confirmed its start they are marked as read.
Nothing runs until an agent that wants mail has had a turn, and nothing but a look in each poll interval until its team
has a folder.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import time
from collections.abc import Awaitable, Callable, Collection, Sequence
from functools import partial
from typing import TYPE_CHECKING, Final, TypeAlias

from msgspec import Struct

from codex_mcp.base.errors import Explained, Refused
from codex_mcp.base.settings.team import TeamSettings
from codex_mcp.base.tasks import TaskSet
from codex_mcp.codex.core import CoreError, TurnSpec, When
from codex_mcp.mail.address import Address
from codex_mcp.mail.delivery.loop_protection import Choice, next_hops
from codex_mcp.team.closing import Closing
from codex_mcp.team.mail.arrivals import Arrivals
from codex_mcp.team.mail.counts import Kind, MailCounts
from codex_mcp.team.mail.inbox_watch import InboxWatch
from codex_mcp.team.mail.loop_guard import LoopGuard
from codex_mcp.team.mail.mail_audience import MailAudience
from codex_mcp.team.mail.shutdown_requests import REQUEST, ShutdownRequests
from codex_mcp.team.mail.team_mail import TeamMail
from codex_mcp.team.member_threads import MemberThreads
from codex_mcp.team.roster import Member
from codex_mcp.team.work import Assignment, Work
from codex_mcp.threads.questions.board import Receipt
from codex_mcp.threads.thread import Thread
from codex_mcp.threads.turn import Turn
from codex_mcp.threads.turn_queue import Source

if TYPE_CHECKING:
    from codex_mcp.mail.delivery.handover import Batch, Handover
    from codex_mcp.mail.message import Message

logger = logging.getLogger(__name__)

PURPOSE: Final = "mail"
"""The event under which the audit lists a turn that mail began."""

STEERED: Final = "mail_steered"
"""The event under which it lists urgent mail that has joined a running turn."""

FIRST_DELAY: Final = 1.0
LONGEST_DELAY: Final = 60.0
"""Seconds after which mail that could not be delivered is tried again; the delay doubles with each failure."""

END_GRACE: Final = 2.0
"""Seconds that a delivery may take to record its outcome when the server ends."""


Begin: TypeAlias = Callable[[Member, "Batch"], Awaitable[Turn | None]]
"""Gives an agent a prompt with mail; None if this is not the time for it."""


class InjectionParts(Struct, frozen=True):
    """What mail needs of the team."""

    mail: TeamMail
    work: Work
    threads: MemberThreads
    closing: Closing
    watch: InboxWatch
    arrivals: Arrivals
    approval_timeout: float
    """Seconds after which a question in a turn that mail began is denied."""


class Injection:
    """Listens to all threads."""

    def __init__(self, settings: TeamSettings, parts: InjectionParts) -> None:
        mail = parts.mail
        self._settings = settings
        self._mail = mail
        self._work = parts.work
        self._threads = parts.threads
        self._approval_timeout = parts.approval_timeout
        self._shutdown = ShutdownRequests(mail, parts.closing)
        self._roster = mail.roster
        self._delivering: set[str] = set()
        self._awaited: set[str] = set()
        """Agents that have become idle, or got mail, since their delivery began to look."""
        self._guard = LoopGuard(mail, settings.max_hops)
        self._handover: Handover | None = None
        self._timers: dict[str, asyncio.TimerHandle] = {}
        self._ending = asyncio.Event()
        self._arrivals = parts.arrivals
        self.counts = MailCounts()
        self._watch = parts.watch
        parts.watch.add(self)
        self._tasks = TaskSet()

    def turn_submitted(self, thread: Thread, turn: Turn) -> None:
        if turn.has_parted and turn.purpose == STEERED:  # a turn of its own now
            turn.set_purpose(PURPOSE)
        member = self._roster.of_thread(thread.id)
        if member is not None and not self._ending.is_set():
            self._mail.session_team.begin(self._is_wanted_by)
        if member is not None and turn.place.source is Source.CALLER:
            self._guard.prompted(member.agent.codex_id)
        if member is not None and self._is_wanted_by(member) and not self._ending.is_set():
            self._watch.begin()

    def why_not(self, thread: Thread, turn: Turn) -> str:
        return ""

    def why_no_more(self, thread: Thread, ahead: int) -> str:
        return ""

    def turn_begun_by_codex(self, thread: Thread) -> None:
        """Ignored."""

    def tokens_counted(self, thread: Thread) -> None:
        """Ignored."""

    def tokens_used(self, thread: Thread, tokens: int) -> None:
        """Ignored."""

    def turn_concluded(self, thread: Thread, turn: Turn) -> None:
        self._thread_changed(thread)

    def turn_left(self, thread: Thread) -> None:
        self._thread_changed(thread)

    def question_decided(self, thread: Thread, turn: Turn, receipt: Receipt) -> None:
        """Ignored."""

    def hops_of(self, member: Member) -> int:
        """The hops of mail that this agent sends now: more than those of the mail in its turn, if there is any."""
        thread = member.thread
        turn = None if thread is None else thread.current
        if thread is None or turn is None:
            return 0
        steering = (each for each in thread.unfinished() if each.joins is turn)
        audiences = [each.audience for each in (turn, *steering)]
        return max((each.hops for each in audiences if isinstance(each, MailAudience)), default=0)

    async def held(self, member: Member) -> int:
        """How many unread messages of an agent are held back by the loop protection. Raises Explained."""
        held = 0
        for address in self._mail.addresses(member.mailbox) if self._is_wanted_by(member) else ():
            if unread := self._unread(member, await self._mail.messages_at(address, member.mailbox)):
                held += await self._guard.held(address, unread)
        return held

    def inbox_added(self, member: Member) -> None:
        """An agent has one more inbox, in which mail may wait."""
        self._wake(member)

    async def aclose(self) -> None:
        """Begin nothing more. Deliveries that have begun record their outcome first."""
        self._ending.set()
        for timer in self._timers.values():
            timer.cancel()
        await self._watch.aclose()
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(END_GRACE):
                await self._tasks.join()
        await self._tasks.aclose()

    def _thread_changed(self, thread: Thread) -> None:
        member = self._roster.of_thread(thread.id)
        if member is not None:
            self._wake(member)

    def _wake(self, member: Member) -> None:
        """Look for mail of this agent, now or after the delivery that is under way."""
        key = member.agent.codex_id
        if not self._is_wanted_by(member) or self._ending.is_set():
            return
        self._awaited.add(key)
        if key not in self._delivering:
            self._delivering.add(key)
            self._tasks.spawn(self._deliver(key, member.agent.principal), name=f"mail of {member.agent.identity}")

    def _is_wanted_by(self, member: Member) -> bool:
        return self._settings.auto_mail and member.agent.auto_mail and not member.closing

    def _can_have_turn(self, member: Member) -> bool:
        return self._may_have_mail(member) and member.thread is not None and _is_free(member.thread)

    def _can_be_steered(self, member: Member) -> bool:
        is_busy = member.thread is not None and not member.thread.idle
        return is_busy and self._settings.steer_urgent_mail and self._may_have_mail(member)

    def _may_have_mail(self, member: Member) -> bool:
        return member in self._roster and self._is_wanted_by(member) and not self._ending.is_set()

    async def inboxes_changed(self, inboxes: frozenset[Address]) -> None:
        for member in self._roster:
            if not inboxes.isdisjoint(self._mail.addresses(member.mailbox)):
                self._wake(member)

    def watched(self) -> Collection[Address]:
        wanting = (member for member in self._roster if self._is_wanted_by(member))
        return [address for member in wanting for address in self._mail.watched(member.mailbox)]

    async def _deliver(self, key: str, principal: str) -> None:
        delay = FIRST_DELAY
        try:
            # Looked up each time: it may have been closed and resumed while this waited.
            while key in self._awaited and (member := self._roster.called(key, principal)) is not None:
                self._awaited.discard(key)
                try:
                    is_done = await self._deliver_next(member)
                except Explained as exc:
                    logger.warning("mail of agent %s is not delivered now: %s", member.agent.identity, exc)
                    is_done = False
                if not is_done and self._is_wanted_by(member):
                    with contextlib.suppress(TimeoutError):
                        async with asyncio.timeout(delay):
                            await self._ending.wait()
                    delay = min(2 * delay, LONGEST_DELAY)
                    self._awaited.add(key)
                if self._ending.is_set():
                    return
        finally:
            self._awaited.discard(key)
            self._delivering.discard(key)

    async def _deliver_next(self, member: Member) -> bool:
        """Give the next messages to an agent. False: that failed, and is worth another try later."""
        await self._arrivals.look(member.mailbox)
        for address in self._mail.addresses(member.mailbox):
            is_done = None
            if self._can_have_turn(member):
                is_done = await self._give_turn(member, address)
            elif self._can_be_steered(member):
                is_done = await self._steer(member, address)
            if is_done is not None:
                return is_done
        return True

    async def _give_turn(self, member: Member, address: Address) -> bool | None:
        """A turn with mail of one inbox. None: nothing in it may begin one."""
        if address.team != self._mail.session_team.team:  # whose folder belongs to Claude Code
            await self._mail.files.make_inbox(address)
        inbox = await self._mail.messages_at(address, member.mailbox)
        unread = self._unread(member, inbox)
        if not unread:
            return None
        if await self._shutdown.obeyed(member, address, unread):
            return True
        batch = await self._next_batch(member, address, inbox, unread)
        return None if batch is None else await self._hand_over(member, batch, self._begun)

    async def _steer(self, member: Member, address: Address) -> bool | None:
        """Add urgent mail of one inbox to the running turn. None: there is none. A request to shut down waits."""
        inbox = await self._mail.messages_at(address, member.mailbox)
        unread = self._unread(member, inbox)
        urgent = tuple(message for message in unread if message.is_urgent and message.kind != REQUEST)
        batch = await self._next_batch(member, address, inbox, urgent) if urgent else None
        if batch is None:
            return None
        self._awaited.add(member.agent.codex_id)  # there may be more than fits into one envelope
        return await self._hand_over(member, batch, self._steered)

    async def _hand_over(self, member: Member, batch: Batch, begin: Begin) -> bool:
        handover, count = await self._opened(), partial(self.counts.add, batch.to, member.agent.principal)
        try:
            turn = await begin(member, batch)
        except (Refused, CoreError):
            count(Kind.OFFERED, len(batch.messages))
            count(Kind.FAILED, len(batch.messages))
            await handover.turn_refused(batch)
            raise  # after any other error it is not certain that there is no turn, and the mail counts as offered
        if turn is None:
            await handover.turn_refused(batch)
            return True
        count(Kind.OFFERED, len(batch.messages))
        count(Kind.REDELIVERED, len(batch.redelivered))
        turn.mark_delivered()  # no caller asks for its outcome
        return await self._confirmed(handover, member, batch, turn)

    def _unread(self, member: Member, inbox: Sequence[Message]) -> tuple[Message, ...]:
        return self._guard.counted(member.agent.codex_id, (message for message in inbox if not message.is_read))

    async def _next_batch(
        self, member: Member, address: Address, inbox: Sequence[Message], unread: tuple[Message, ...]
    ) -> Batch | None:
        choice = await self._chosen(member, address, unread)
        if not choice.chosen:
            return None
        handover = await self._opened()
        return await handover.next_batch(address, inbox, lambda message: message.id in choice.chosen)

    async def _chosen(self, member: Member, address: Address, unread: tuple[Message, ...]) -> Choice:
        """What may begin a turn. What must wait for a while wakes the agent again."""
        choice = await self._guard.choose(address, unread)
        self.counts.held(address, member.agent.principal, choice.held)
        self.counts.add(address, member.agent.principal, Kind.EXPIRED, len(choice.superfluous))
        if choice.superfluous:
            await self._mail.files.mark(address, choice.superfluous)
        if choice.free_at is not None:
            self._wake_later(member, max(FIRST_DELAY, choice.free_at - time.time()))
        return choice

    def _wake_later(self, member: Member, delay: float) -> None:
        key = member.agent.codex_id
        if (earlier := self._timers.pop(key, None)) is not None:
            earlier.cancel()
        self._timers[key] = asyncio.get_running_loop().call_later(delay, self._wake, member)

    async def _begun(self, member: Member, batch: Batch) -> Turn | None:
        """A turn with this mail; None if the agent is not idle any longer, or has had a turn meanwhile."""
        async with member.life:  # callers that wait for it go first
            if not self._can_have_turn(member) or member.agent.codex_id in self._awaited:
                return None
            await self._threads.load(member)
            if not self._can_have_turn(member):
                return None
            return await self._submit(member, batch, When.QUEUE)

    async def _steered(self, member: Member, batch: Batch) -> Turn | None:
        """A prompt with this mail for the running turn; None if there is none any longer."""
        async with member.life:
            return await self._submit(member, batch, When.STEER) if self._can_be_steered(member) else None

    async def _submit(self, member: Member, batch: Batch, when: When) -> Turn:
        spec = TurnSpec(batch.text, when=when)
        counted = self._guard.counted(member.agent.codex_id, batch.messages)
        audience = MailAudience(member, self._approval_timeout, next_hops(counted))
        task = Assignment(spec, audience, full_events=False, purpose=PURPOSE, source=Source.MAIL)
        turn = await self._work.submit(member, task)
        if turn.joins is not None:
            turn.set_purpose(STEERED)
        return turn

    async def _confirmed(self, handover: Handover, member: Member, batch: Batch, turn: Turn) -> bool:
        """Mark the mail as read once the core has begun the turn, or has put it into the conversation."""
        if await turn.until_started():
            await self._delivered(handover, member, batch)
            return True
        self.counts.add(batch.to, member.agent.principal, Kind.FAILED, len(batch.messages))
        if not turn.may_be_read:
            await handover.turn_refused(batch)
        left, name = len(batch.messages), batch.to.agent
        logger.warning("%d message(s) for agent %s stay unread: the turn did not begin", left, name)
        return False

    async def _delivered(self, handover: Handover, member: Member, batch: Batch) -> None:
        count, now = partial(self.counts.add, batch.to, member.agent.principal), time.time()
        count(Kind.STARTED, len(batch.messages))
        for sent_at in (message.sent_at for message in batch.messages if message.sent_at is not None):
            self.counts.waited(batch.to, member.agent.principal, now - sent_at)
        await self._guard.turn_began(batch.to, batch.messages)
        await handover.turn_started(batch)
        count(Kind.READ, len(batch.messages))
        logger.info("agent %s got %d message(s)", batch.to.agent, len(batch.messages))

    async def _opened(self) -> Handover:
        if self._handover is None:
            from codex_mcp.mail.delivery.envelope import EnvelopeLimits  # noqa: PLC0415  only for a team that has mail
            from codex_mcp.mail.delivery.handover import Handover  # noqa: PLC0415

            limits = EnvelopeLimits(self._settings.max_messages, self._settings.max_message_length)
            self._handover = Handover(await self._mail.opened(), limits)
        return self._handover


def _is_free(thread: Thread) -> bool:
    """It has no turn, or one that Codex began by itself: then mail is read between two of them."""
    turn = thread.current
    return turn is None or (turn.place.source is Source.CODEX and not thread.waiting)
