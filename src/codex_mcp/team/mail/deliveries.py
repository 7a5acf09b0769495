"""One delivery: the unread mail of an agent becomes a turn, or joins the one that runs.

Mail is offered only to an idle agent, so a caller that waits always comes first; only urgent mail may be added to a
running turn, and becomes the next one if the model does not read it there. The messages are recorded as offered, the
turn is queued, and when the core has confirmed its start they are marked as read.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Awaitable, Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Final, TypeAlias

from msgspec import Struct

from codex_mcp.base.errors import Refused
from codex_mcp.base.settings.team import TeamSettings
from codex_mcp.codex.core import CoreError, TurnSpec, When
from codex_mcp.mail.address import Address
from codex_mcp.mail.delivery.loop_protection import Choice, MailVerdict, next_hops
from codex_mcp.team.closing import Closing
from codex_mcp.team.mail.arrivals import Arrivals
from codex_mcp.team.mail.counts import CountKind, MailCounts
from codex_mcp.team.mail.loop_guard import LoopGuard
from codex_mcp.team.mail.mail_audience import MailAudience
from codex_mcp.team.mail.schedule import DeliverySchedule
from codex_mcp.team.mail.shutdown_requests import REQUEST, ShutdownRequests
from codex_mcp.team.mail.team_mail import TeamMail
from codex_mcp.team.member_threads import MemberThreads
from codex_mcp.team.roster import Member
from codex_mcp.team.work import Assignment, Work
from codex_mcp.threads.thread import Thread
from codex_mcp.threads.turn import Turn
from codex_mcp.threads.turn_queue import Source

if TYPE_CHECKING:
    from codex_mcp.mail.delivery.handover import Handover, MailBatch
    from codex_mcp.mail.message import Message

logger = logging.getLogger(__name__)

PURPOSE: Final = "mail"
"""The event under which the audit lists a turn that mail began."""

STEERED: Final = "mail_steered"
"""The event under which it lists urgent mail that has joined a running turn."""

LEAST_DELAY: Final = 1.0
"""Seconds until held mail is looked at again, at least."""

Begin: TypeAlias = Callable[[Member, "MailBatch"], Awaitable[Turn | None]]
"""Gives an agent a prompt with mail; None if this is not the time for it."""


class DeliveryParts(Struct, frozen=True):
    """What mail needs of the team."""

    mail: TeamMail
    work: Work
    threads: MemberThreads
    closing: Closing
    arrivals: Arrivals
    approval_timeout: float
    """Seconds after which a question in a turn that mail began is denied."""


class Deliveries:
    def __init__(self, settings: TeamSettings, parts: DeliveryParts, schedule: DeliverySchedule) -> None:
        self._settings = settings
        self._mail = parts.mail
        self._work = parts.work
        self._threads = parts.threads
        self._approval_timeout = parts.approval_timeout
        self._arrivals = parts.arrivals
        self._shutdown = ShutdownRequests(parts.mail, parts.closing)
        self._guard = LoopGuard(parts.mail, settings.max_hops)
        self._handover: Handover | None = None
        self._schedule = schedule
        self.counts = MailCounts()

    async def deliver(self, member: Member) -> bool:
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

    def prompted(self, member: Member) -> None:
        """A caller has given it a prompt."""
        self._guard.prompted(member.agent.codex_id)

    async def held(self, member: Member) -> dict[str, MailVerdict]:
        """The unread messages of an agent that are held back by the loop protection, and why. Raises Explained."""
        held: dict[str, MailVerdict] = {}
        for address in self._mail.addresses(member.mailbox):
            if unread := self._unread(member, await self._mail.messages_at(address, member.mailbox)):
                held |= await self._guard.held(address, unread)
        return held

    def _can_have_turn(self, member: Member) -> bool:
        return self._may_have_mail(member) and member.thread is not None and _is_free(member.thread)

    def _can_be_steered(self, member: Member) -> bool:
        is_busy = member.thread is not None and not member.thread.idle
        return is_busy and self._settings.steer_urgent_mail and self._may_have_mail(member)

    def _may_have_mail(self, member: Member) -> bool:
        return member in self._mail.roster and self._schedule.is_wanted_by(member)

    async def _give_turn(self, member: Member, address: Address) -> bool | None:
        """A turn with mail of one inbox. None: nothing in it may begin one."""
        if address.team != self._mail.session_team.team:  # whose folder belongs to Claude Code
            await self._mail.files.make_inbox(address)
        inbox = await self._mail.messages_at(address, member.mailbox)
        unread = self._unread(member, inbox)
        if not unread:
            return None
        if await self._shutdown.obey(member, address, unread):
            return True
        batch = await self._next_batch(member, address, inbox, unread)
        return None if batch is None else await self._hand_over(member, batch, self._begin_turn)

    async def _steer(self, member: Member, address: Address) -> bool | None:
        """Add urgent mail of one inbox to the running turn. None: there is none. A request to shut down waits."""
        inbox = await self._mail.messages_at(address, member.mailbox)
        unread = self._unread(member, inbox)
        urgent = tuple(message for message in unread if message.is_urgent and message.kind != REQUEST)
        batch = await self._next_batch(member, address, inbox, urgent) if urgent else None
        if batch is None:
            return None
        self._schedule.look_again(member)  # there may be more than fits into one envelope
        return await self._hand_over(member, batch, self._join_turn)

    async def _hand_over(self, member: Member, batch: MailBatch, begin: Begin) -> bool:
        handover, count = await self._open_handover(), partial(self.counts.add, batch.to, member.agent.principal)
        try:
            turn = await begin(member, batch)
        except (Refused, CoreError):
            count(CountKind.OFFERED, len(batch.messages))
            count(CountKind.FAILED, len(batch.messages))
            await handover.turn_refused(batch)
            raise  # after any other error it is not certain that there is no turn, and the mail counts as offered
        if turn is None:
            await handover.turn_refused(batch)
            return True
        count(CountKind.OFFERED, len(batch.messages))
        count(CountKind.REDELIVERED, len(batch.redelivered))
        turn.mark_delivered()  # no caller asks for its outcome
        return await self._confirm(handover, member, batch, turn)

    def _unread(self, member: Member, inbox: Sequence[Message]) -> tuple[Message, ...]:
        return self._guard.counted(member.agent.codex_id, (message for message in inbox if not message.is_read))

    async def _next_batch(
        self, member: Member, address: Address, inbox: Sequence[Message], unread: tuple[Message, ...]
    ) -> MailBatch | None:
        choice = await self._choose(member, address, unread)
        if not choice.chosen:
            return None
        handover = await self._open_handover()
        return await handover.next_batch(address, inbox, lambda message: message.id in choice.chosen)

    async def _choose(self, member: Member, address: Address, unread: tuple[Message, ...]) -> Choice:
        """What may begin a turn. What must wait for a while wakes the agent again."""
        choice = await self._guard.choose(address, unread)
        self.counts.held(address, member.agent.principal, choice.held)
        self.counts.add(address, member.agent.principal, CountKind.EXPIRED, len(choice.superfluous))
        if choice.superfluous:
            await self._mail.files.mark(address, choice.superfluous)
        if choice.free_at is not None:
            self._schedule.look_later(member, max(LEAST_DELAY, choice.free_at - time.time()))
        return choice

    async def _begin_turn(self, member: Member, batch: MailBatch) -> Turn | None:
        """A turn with this mail; None if the agent is not idle any longer, or has had a turn meanwhile."""
        async with member.life:  # callers that wait for it go first
            if not self._can_have_turn(member) or self._schedule.is_awaited(member):
                return None
            await self._threads.load(member)
            if not self._can_have_turn(member):
                return None
            return await self._submit(member, batch, When.QUEUE)

    async def _join_turn(self, member: Member, batch: MailBatch) -> Turn | None:
        """A prompt with this mail for the running turn; None if there is none any longer."""
        async with member.life:
            return await self._submit(member, batch, When.STEER) if self._can_be_steered(member) else None

    async def _submit(self, member: Member, batch: MailBatch, when: When) -> Turn:
        spec = TurnSpec(batch.text, when=when)
        counted = self._guard.counted(member.agent.codex_id, batch.messages)
        audience = MailAudience(member, self._approval_timeout, next_hops(counted))
        task = Assignment(spec, audience, full_events=False, purpose=PURPOSE, source=Source.MAIL)
        turn = await self._work.submit(member, task)
        if turn.joins is not None:
            turn.set_purpose(STEERED)
        return turn

    async def _confirm(self, handover: Handover, member: Member, batch: MailBatch, turn: Turn) -> bool:
        """Mark the mail as read once the core has begun the turn, or has put it into the conversation."""
        if await turn.until_started():
            await self._note_delivery(handover, member, batch, turn)
            return True
        self.counts.add(batch.to, member.agent.principal, CountKind.FAILED, len(batch.messages))
        if not turn.may_be_read:
            await handover.turn_refused(batch)
        left, name = len(batch.messages), batch.to.agent
        logger.warning("%d message(s) for agent %s stay unread: the turn did not begin", left, name)
        return False

    async def _note_delivery(self, handover: Handover, member: Member, batch: MailBatch, turn: Turn) -> None:
        count, now = partial(self.counts.add, batch.to, member.agent.principal), time.time()
        count(CountKind.STARTED, len(batch.messages))
        for sent_at in (message.sent_at for message in batch.messages if message.sent_at is not None):
            self.counts.waited(batch.to, member.agent.principal, now - sent_at)
        await self._guard.turn_began(batch.to, batch.messages)
        await handover.turn_started(batch, steered=turn.purpose == STEERED)
        count(CountKind.READ, len(batch.messages))
        logger.info("agent %s got %d message(s)", batch.to.agent, len(batch.messages))

    async def _open_handover(self) -> Handover:
        if self._handover is None:
            from codex_mcp.mail.delivery.envelope import EnvelopeLimits  # noqa: PLC0415  only for a team that has mail
            from codex_mcp.mail.delivery.handover import Handover  # noqa: PLC0415

            limits = EnvelopeLimits(self._settings.max_messages, self._settings.max_message_length)
            self._handover = Handover(await self._mail.open_store(), limits)
        return self._handover


def _is_free(thread: Thread) -> bool:
    """It has no turn, or one that Codex began by itself: then mail is read between two of them."""
    turn = thread.current
    return turn is None or (turn.place.source is Source.CODEX and not thread.waiting)
