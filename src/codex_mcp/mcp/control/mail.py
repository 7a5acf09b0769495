"""The mail that a connection may see, for those who follow the topic `mail`: each message with how far it came, and
why it waits. An inbox is read again when its file has changed.

The user of the server sees all inboxes of the team; a principal sees those of its own agents and names.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterable, Mapping, Sequence
from typing import Final

import msgspec
from msgspec import Struct

from codex_mcp.base.blocking import in_thread
from codex_mcp.base.errors import Explained
from codex_mcp.base.principals import LOCAL
from codex_mcp.base.secrets.redact import redact
from codex_mcp.mail.address import Address
from codex_mcp.mail.delivery.ledger import Ledger
from codex_mcp.mail.delivery.loop_protection import MailVerdict
from codex_mcp.mail.delivery.transitions import MailDelivery
from codex_mcp.mail.message import Message
from codex_mcp.mcp.control.inside import Inside
from codex_mcp.mcp.control.rows import Row
from codex_mcp.team.agent import Mailbox
from codex_mcp.team.mail.waiting import AUTO_MAIL_OFF, Recipient, why_waiting
from codex_mcp.team.roster import Member
from codex_mcp.wire.control_mail import LetterFacts

EVERY: Final = 1.0
"""Seconds between two looks."""

MOST: Final = 200
"""The newest messages are told."""

LONGEST: Final = 4000
"""Characters of a text; `codex-mcp mail read` shows longer ones."""

MOST_CHARACTERS: Final = 150_000
"""Of all texts together: a follower that reads slowly must not miss an event because of them."""


class Box(Struct, frozen=True):
    """An inbox that may be seen."""

    address: Address
    mailbox: Mailbox
    member: Member | None = None


class MailLook:
    def __init__(self, inside: Inside, principal: str | None) -> None:
        """`principal`: whose mail may be seen; None is all."""
        self._inside = inside
        self._team = inside.team
        self._principal = principal
        self._read: dict[Address, tuple[tuple[int, ...], Sequence[Message]]] = {}

    async def look(self) -> Mapping[str, Row]:
        try:
            return await self._rows()
        except Explained:
            return {}

    async def _rows(self) -> Mapping[str, Row]:
        if not self._team.mail.has_folder:
            return {}
        found = [(box, message) for box in await self._boxes() for message in await self._messages(box)]
        if not found:
            return {}
        found.sort(key=lambda each: each[1].sent_at or 0.0, reverse=True)
        found = found[:MOST]
        deliveries = await Ledger((await self._team.mail.open_store()).database).deliveries()
        held = await self._read_held(found)
        letters = [_letter(box, message, deliveries, self._why(box, message, held)) for box, message in found]
        return {each.key: msgspec.to_builtins(each) for each in _within(letters)}

    async def _boxes(self) -> list[Box]:
        mail = self._team.mail
        members = [each for each in self._team.roster if self._principal in (None, each.agent.principal)]
        found = [Box(place, each.mailbox, each) for each in members for place in mail.addresses(each.mailbox)]
        known = {box.address for box in found}
        for team in dict.fromkeys(filter(None, (self._inside.settings.team, mail.session_team.team))):
            for name in await self._names(team):
                if (address := Address(name, team)) not in known:
                    box = await self._mailbox(name, team)
                    found += [] if box is None else [Box(address, box)]
        return found

    async def _names(self, team: str) -> Iterable[str]:
        mail = self._team.mail
        if self._principal is None:
            return await mail.files.known(team)
        return await mail.own_names(self._principal) if team == self._inside.settings.team else ()

    async def _mailbox(self, name: str, team: str) -> Mailbox | None:
        if self._principal is None:
            return Mailbox(identity=name, team=team, principal=LOCAL)
        return await self._team.mail.own_mailbox(name, self._principal)

    async def _messages(self, box: Box) -> Sequence[Message]:
        path = self._team.mail.files.layout.inbox(box.address)
        with contextlib.suppress(Explained, OSError):
            stamp = await in_thread(_stamp, path)
            known = self._read.get(box.address)
            if known is None or known[0] != stamp:
                known = stamp, await self._team.mail.messages_at(box.address, box.mailbox)
                self._read[box.address] = known
            return known[1]
        return ()

    async def _read_held(self, found: Iterable[tuple[Box, Message]]) -> dict[str, Mapping[str, MailVerdict]]:
        waiting = {box.member.agent.codex_id: box.member for box, each in found if box.member and not each.is_read}
        held = {}
        for codex_id, member in waiting.items():
            with contextlib.suppress(Explained):
                held[codex_id] = await self._team.injection.held(member)
        return held

    def _why(self, box: Box, message: Message, held: Mapping[str, Mapping[str, MailVerdict]]) -> str:
        member = box.member
        if member is None or message.is_read:
            return ""
        pause = self._team.work.pause(member)
        recipient = Recipient(
            closing=member.closing,
            wants=self._team.injection.schedule.is_wanted_by(member),
            paused="" if pause is None else pause.reason,
            busy=member.thread is None or not member.thread.idle,
        )
        return why_waiting(recipient, message.kind, held.get(member.agent.codex_id, {}).get(message.id))


def _letter(
    box: Box, message: Message, deliveries: Mapping[tuple[Address, str], MailDelivery], why: str
) -> LetterFacts:
    address, member, delivery = box.address, box.member, deliveries.get((box.address, message.id))
    return LetterFacts(
        key=f"{address}/{message.id}",
        id=message.id,
        team=address.team,
        to=address.agent,
        sender=redact(message.sender[:200]),
        sender_team=message.sender_team or "",
        summary=redact((message.summary or "")[:300]),
        text=redact(message.text[:LONGEST]),
        is_cut=len(message.text) > LONGEST,
        sent_at=message.sent_at,
        kind=message.kind or "",
        is_read=message.is_read,
        is_urgent=message.is_urgent,
        is_acknowledged=message.is_acknowledged,
        stage="" if delivery is None else delivery.progress.stage,
        offers=0 if delivery is None else delivery.progress.offers,
        times={} if delivery is None else delivery.times,
        why=why,
        agent="" if member is None else member.agent.codex_id,
        principal=box.mailbox.principal,
        can_be_delivered=member is not None and not message.is_read and why == AUTO_MAIL_OFF,
    )


def _within(letters: Sequence[LetterFacts]) -> Sequence[LetterFacts]:
    """The newest letters whose texts are not too long together."""
    size = 0
    for at, letter in enumerate(letters):
        size += len(letter.text)
        if size > MOST_CHARACTERS:
            return letters[:at]
    return letters


def _stamp(path: str) -> tuple[int, ...]:
    found = os.stat(path)
    return found.st_mtime_ns, found.st_size, found.st_ino
