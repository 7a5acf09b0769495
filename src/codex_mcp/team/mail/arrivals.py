"""Tells clients of new mail in their mailboxes, before an agent gets it as a prompt, and whether or not one will.

A client follows single mailboxes (a subscription), or those of all its agents that run here and of its lead (its log).
Whose a name is may change, so that is asked at each look.
"""

from __future__ import annotations

import asyncio
import itertools
import logging
import time
from collections.abc import Callable, Collection, Iterable
from typing import TypeAlias

from msgspec import Struct

from codex_mcp.base.errors import Explained
from codex_mcp.base.printable import counted, foreign
from codex_mcp.mail.address import Address
from codex_mcp.mail.message import Message
from codex_mcp.team.agent import Mailbox
from codex_mcp.team.mail.inbox_watch import InboxWatch
from codex_mcp.team.mail.team_mail import TeamMail

logger = logging.getLogger(__name__)

SENDER_CHARS = 64

PRECISION = 0.001
"""Seconds: that of the times in messages."""

SENDERS_NAMED = 5
"""In one line."""


class Arrival(Struct, frozen=True):
    identity: str
    senders: tuple[str, ...]
    """Of the new messages, each once; empty if the mailbox changed otherwise: messages were read or removed."""
    count: int = 0
    """New messages."""

    def __str__(self) -> str:
        named = ", ".join(foreign(each, SENDER_CHARS) for each in self.senders[:SENDERS_NAMED])
        more = f" and {len(self.senders) - SENDERS_NAMED} more" if len(self.senders) > SENDERS_NAMED else ""
        return f"{self.identity} has {counted(self.count, 'new message')} from {named}{more}"


Tell: TypeAlias = Callable[[Arrival], None]
"""Told of a change. It must not raise."""

Stop: TypeAlias = Callable[[], None]


class _Followed:
    """A mailbox of a principal, what was last seen in it, and who is told."""

    def __init__(self, identity: str, principal: str, since: float) -> None:
        self.identity = identity
        self.principal = principal
        self.since = since
        self.seen: frozenset[tuple[str, bool]] | None = None
        """Messages, and whether they are read; None before the first look, at which only later mail is new."""
        self.tells: list[Tell] = []
        self.looking = asyncio.Lock()

    def arrival(self, messages: Iterable[Message]) -> Arrival | None:
        """What has changed since the last look; None if nothing has."""
        found = list(messages)
        now, before = frozenset((each.id, each.is_read) for each in found), self.seen
        self.seen = now
        known = None if before is None else {message_id for message_id, _ in before}
        new = [each for each in found if (_is_after(each, self.since) if known is None else each.id not in known)]
        if not new and (before is None or now == before):
            return None
        return Arrival(self.identity, tuple(dict.fromkeys(each.sender for each in new)), len(new))


class _Everything(Struct, frozen=True):
    """Follows all mailboxes of a principal."""

    principal: str
    tell: Tell
    since: float


class Arrivals:
    """Follows the inboxes, before the one that delivers what is in them."""

    def __init__(self, mail: TeamMail, watch: InboxWatch, lead: str) -> None:
        self._mail = mail
        self._watch = watch
        self._lead = lead
        self._followed: dict[tuple[str, str], _Followed] = {}
        self._everything: dict[int, _Everything] = {}
        self._numbers = itertools.count()
        watch.add(self)

    async def prepare(self, identity: str, principal: str) -> None:
        """What is in a mailbox now is not new to whoever follows it next. Raises Explained if it is another's."""
        await self._mail.mailbox(identity, principal, is_sender=False)
        followed = self._of(identity, principal, time.time())
        if followed.seen is None:
            await self._look(followed)

    def follow(self, identity: str, principal: str, tell: Tell) -> Stop:
        """Tell of each change of a mailbox from now on."""
        followed = self._of(identity, principal, time.time())
        followed.tells.append(tell)
        self._watch.begin()

        def stop() -> None:
            if tell in followed.tells:
                followed.tells.remove(tell)
                self._forget_unfollowed()

        return stop

    def follow_all(self, principal: str, tell: Tell) -> Stop:
        """Tell of new mail for this principal's agents here, and for its lead."""
        number = next(self._numbers)
        self._everything[number] = _Everything(principal, tell, time.time() - PRECISION)
        self._note_all()
        self._watch.begin()

        def stop() -> None:
            self._everything.pop(number, None)
            self._forget_unfollowed()

        return stop

    def watched(self) -> Collection[Address]:
        self._note_all()
        return [address for each in self._followed.values() for address in self._places(each)]

    async def inboxes_changed(self, inboxes: frozenset[Address]) -> None:
        for followed in list(self._followed.values()):
            if not inboxes.isdisjoint(self._places(followed)):
                await self._look(followed)

    async def look(self, box: Mailbox) -> None:
        """Mail is about to be delivered: who follows this mailbox is told first."""
        followed = self._followed.get((box.identity, box.principal))
        if followed is not None:
            await self._look(followed)

    async def _look(self, followed: _Followed) -> None:
        async with followed.looking:
            try:
                box = await self._box(followed)
                arrival = None if box is None else followed.arrival(await self._mail.messages(box))
            except Explained as exc:
                logger.debug("cannot tell of new mail for %s: %s", followed.identity, exc)
                return
            if arrival is not None:
                for tell in self._tells(followed, arrival):
                    tell(arrival)

    async def _box(self, followed: _Followed) -> Mailbox | None:
        """Whoever follows a name has asked for it, as a reader has; its log alone makes no name a client's own."""
        if followed.tells:
            return await self._mail.mailbox(followed.identity, followed.principal, is_sender=False)
        return await self._mail.own_mailbox(followed.identity, followed.principal)

    def _tells(self, followed: _Followed, arrival: Arrival) -> list[Tell]:
        everything = [each.tell for each in self._everything.values() if each.principal == followed.principal]
        return [*followed.tells, *(everything if arrival.count else ())]

    def _note_all(self) -> None:
        for each in self._everything.values():
            for name in (self._lead, *(member.agent.identity for member in self._mail.roster.of(each.principal))):
                self._of(name, each.principal, each.since)

    def _of(self, identity: str, principal: str, since: float) -> _Followed:
        key = (identity, principal)
        if key not in self._followed:
            followed = self._followed[key] = _Followed(identity, principal, since)
            if not self._mail.has_inbox(_box_of(followed)):
                followed.seen = frozenset()
        return self._followed[key]

    def _forget_unfollowed(self) -> None:
        principals = {each.principal for each in self._everything.values()}
        for key, followed in list(self._followed.items()):
            if not followed.tells and followed.principal not in principals:
                del self._followed[key]

    def _places(self, followed: _Followed) -> list[Address]:
        return self._mail.watched(_box_of(followed))


def _box_of(followed: _Followed) -> Mailbox:
    """Enough of a mailbox to know where its files are."""
    return Mailbox(identity=followed.identity, team="", principal=followed.principal)


def _is_after(message: Message, since: float) -> bool:
    return message.sent_at is not None and message.sent_at >= since
