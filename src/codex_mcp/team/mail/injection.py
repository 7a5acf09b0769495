"""Gives unread mail to agents: after each turn, and when an inbox changes.

Nothing runs until an agent that wants mail has had a turn, and nothing but a look in each poll interval until its team
has a folder.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping

from codex_mcp.base.settings.team import TeamSettings
from codex_mcp.mail.address import Address
from codex_mcp.mail.delivery.loop_protection import MailVerdict
from codex_mcp.team.mail.deliveries import PURPOSE, STEERED, Deliveries, DeliveryParts
from codex_mcp.team.mail.inbox_watch import InboxWatch
from codex_mcp.team.mail.mail_audience import MailAudience
from codex_mcp.team.mail.schedule import DeliverySchedule
from codex_mcp.team.roster import Member
from codex_mcp.threads.observers import TurnListener
from codex_mcp.threads.thread import Thread
from codex_mcp.threads.turn import Turn
from codex_mcp.threads.turn_queue import Source


class Injection(TurnListener):
    """Listens to all threads, and to the inboxes."""

    def __init__(self, settings: TeamSettings, parts: DeliveryParts, watch: InboxWatch) -> None:
        self._mail = parts.mail
        self._roster = parts.mail.roster
        self.schedule = DeliverySchedule(
            self._roster, lambda member: self._deliveries.deliver(member), auto_mail=settings.auto_mail
        )
        self._deliveries = Deliveries(settings, parts, self.schedule)
        self._watch = watch
        watch.add(self)
        self.counts = self._deliveries.counts

    def turn_submitted(self, thread: Thread, turn: Turn) -> None:
        if turn.has_parted and turn.purpose == STEERED:  # a turn of its own now
            turn.set_purpose(PURPOSE)
        member = self._roster.of_thread(thread.id)
        if member is not None and not self.schedule.has_ended:
            self._mail.session_team.begin(self.schedule.wants_mail)
        if member is not None and turn.place.source is Source.CALLER:
            self._deliveries.prompted(member)
        if member is not None and self.schedule.is_wanted_by(member):
            self._watch.begin()

    def turn_concluded(self, thread: Thread, turn: Turn) -> None:
        self._thread_changed(thread)

    def turn_left(self, thread: Thread) -> None:
        self._thread_changed(thread)

    def _thread_changed(self, thread: Thread) -> None:
        member = self._roster.of_thread(thread.id)
        if member is not None:
            self.schedule.look(member)

    def hops_of(self, member: Member) -> int:
        """The hops of mail that this agent sends now: more than those of the mail in its turn, if there is any."""
        thread = member.thread
        turn = None if thread is None else thread.current
        if thread is None or turn is None:
            return 0
        steering = (each for each in thread.unfinished() if each.joins is turn)
        audiences = [each.audience for each in (turn, *steering)]
        return max((each.hops for each in audiences if isinstance(each, MailAudience)), default=0)

    async def held(self, member: Member) -> Mapping[str, MailVerdict]:
        """The unread messages of an agent that are held back by the loop protection, and why. Raises Explained."""
        return await self._deliveries.held(member) if self.schedule.wants_mail(member) else {}

    async def inboxes_changed(self, inboxes: frozenset[Address]) -> None:
        for member in self._roster:
            if not inboxes.isdisjoint(self._mail.addresses(member.mailbox)):
                self.schedule.look(member)

    def watched(self) -> Collection[Address]:
        wanting = (member for member in self._roster if self.schedule.wants_mail(member))
        return [address for member in wanting for address in self._mail.watched(member.mailbox)]

    async def aclose(self) -> None:
        self.schedule.end()
        await self._watch.aclose()
        await self.schedule.aclose()
