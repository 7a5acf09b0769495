"""Mail in the name of this server's agents and of their leads: send, broadcast, read, count.

An agent has an inbox in its own team and, under Claude Code, one in the team of the session, as long as it is a member
there (`session_team`). Mail between agents of this server goes through their own team: the session's folder is deleted
when the session ends.

The database is opened by the first message that is sent or delivered. Reading and counting need only the files.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from msgspec import Struct

from codex_mcp.base.errors import Explained
from codex_mcp.base.principals import LOCAL
from codex_mcp.base.settings.team import TeamSettings
from codex_mcp.base.tasks import TaskSet
from codex_mcp.mail.address import Address, address_of
from codex_mcp.mail.message import Message, Outgoing, urgent_first
from codex_mcp.mail.store_types import Delivered, UnknownMessage
from codex_mcp.state.contract import Unavailable
from codex_mcp.team import refusals
from codex_mcp.team.agent import Mailbox
from codex_mcp.team.directory import Directory
from codex_mcp.team.mail.claude_session import NO_SESSION, ClaudeSession, letter, session_team
from codex_mcp.team.mail.names import Names, Recipients
from codex_mcp.team.mail.nudges import Nudges
from codex_mcp.team.mail.session_team import SessionTeam
from codex_mcp.team.records.store_session import StoreSession
from codex_mcp.team.roster import Member

if TYPE_CHECKING:
    from codex_mcp.mail.store import MailStore
    from codex_mcp.mail.team_config import TeamConfig

logger = logging.getLogger(__name__)

OUTBOX_PAUSE = 5.0
"""Seconds until the outbox is tried again after its database failed."""


Joined = Callable[[Member], None]


class MailPlace(Struct, frozen=True):
    """Where the folders of all teams are, and the session of Claude Code that has started this server."""

    teams_dir: str
    claude: ClaudeSession = NO_SESSION


class UnreadMail(Struct, frozen=True):
    """Messages of an inbox, and how many more are unread."""

    messages: Sequence[Message]
    remaining: int = 0


class TeamMail:
    """All methods raise Refused, other Explained errors, and Unavailable."""

    def __init__(
        self, settings: TeamSettings, place: MailPlace, session: StoreSession, directory: Directory, joined: Joined
    ) -> None:
        """`joined` is told of each agent that has become a member of a session's team."""
        self._settings = settings
        self._teams_dir = place.teams_dir
        self._session = session
        self._names = Names(settings, session, directory)
        self.roster = directory.roster
        self._joined = joined
        team = session_team(place.claude, settings.team)
        self.session_team = SessionTeam(team, directory.roster, lambda: self.files, self._has_joined)
        self._nudges = Nudges(place.claude.wire, self._inbox_of_lead, self._unread_of_lead)
        self._lead = ""
        """Of the session's team."""
        self._may_have_folder = asyncio.Event()
        self._store: MailStore | None = None
        self._opening = asyncio.Lock()
        self._is_open = False
        self._tasks = TaskSet()

    @property
    def has_folder(self) -> bool:
        """Whether a team of the agents has a folder. Without one, there is no mail."""
        return self._has_own_folder or self.session_team.has_joined.is_set()

    @property
    def _has_own_folder(self) -> bool:
        return os.path.isdir(os.path.join(self._teams_dir, self._settings.team))

    async def folder_may_have_come(self, seconds: float) -> None:
        """Wait until this server has sent mail or an agent is a member of a session's team, or for so long."""
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await self._may_have_folder.wait()
        self._may_have_folder.clear()

    def addresses(self, box: Mailbox) -> list[Address]:
        """Where the mail of an agent is, in teams that have a folder."""
        own, session = address_for(box), self.session_team.address(box.identity)
        found = [session] if session is not None else []
        is_others = own.team == self.session_team.team and self.session_team.is_refused(own.agent)
        if own != session and not is_others and self._has_own_folder:
            found.append(own)
        return found

    def has_inbox(self, box: Mailbox) -> bool:
        """Whether a file with mail of an agent exists."""
        return any(os.path.lexists(self.files.layout.inbox(address)) for address in self.watched(box))

    def watched(self, box: Mailbox) -> list[Address]:
        """Where mail of an agent may come to be."""
        teams = filter(None, dict.fromkeys([self._settings.team, self.session_team.team]))
        return [Address(box.identity, team) for team in teams]

    async def mailbox(self, identity: str, principal: str, *, is_sender: bool) -> Mailbox:
        """The mailbox of a client's own name. Reading an inbox, or sending, makes a new name its own."""
        if self.session_team.team == self._settings.team and self.session_team.is_refused(identity):
            raise refusals.name_owned(identity)
        is_used = is_sender or identity in await self.files.known(self._settings.team)
        box = await self._names.mailbox(identity, principal, is_used=is_used)
        config = await self.files.config(self._settings.team)
        if self._is_claude_codes(box, config):
            raise refusals.name_owned(identity)
        return box

    async def own_mailbox(self, identity: str, principal: str) -> Mailbox | None:
        """The same, if the name is this client's already."""
        if not await self._names.is_own(identity, principal):
            return None
        return await self.mailbox(identity, principal, is_sender=False)

    async def own_names(self, principal: str) -> list[str]:
        """The names whose mail a client can read without asking for one by name."""
        return await self._names.own_names(principal)

    @property
    def files(self) -> MailStore:
        """The store without its database: enough for reading, marking and counting."""
        if self._store is None:
            from codex_mcp.mail.store import MailStore  # noqa: PLC0415  most servers never need it

            self._store = MailStore(self._teams_dir, self._settings.state_dir)
        return self._store

    async def open_store(self) -> MailStore:
        """The store with its database, opened once."""
        async with self._opening:
            if not self._is_open:
                await self._session.ready()  # it has made the state folder
                await self.files.open()
                self._is_open = True
                self._tasks.spawn(self._run_outbox(self.files), name="outbox of the mail")
        return self.files

    async def send(self, box: Mailbox, to: str, mail: Outgoing) -> Delivered:
        """Send a message from an agent to `agent` or `agent@team`."""
        ours = await self._names.recipients(box)
        address = await self._recipient(to, ours)
        store = await self.open_store()
        also = ours.all if address.team == self._settings.team else ()
        if address.agent in also and address.agent not in ours.agents:
            await self._names.own(address.agent, box.principal)
        delivered = await store.send(self._sender(box, address), address, mail, also=also)
        self._may_have_folder.set()
        await self._note_for_lead(box, delivered, mail)
        return delivered

    async def broadcast(self, box: Mailbox, mail: Outgoing) -> list[Delivered]:
        """Send a message to everyone in the teams except the sender, and say what became of each."""
        store, ours = await self.open_store(), (await self._names.recipients(box)).agents
        outcomes = await store.broadcast(address_for(box), self._settings.team, mail, also=ours)
        self._may_have_folder.set()
        team = self.session_team.team
        if team is None or team == self._settings.team:
            return outcomes
        for other in (await store.config(team)).members:
            if other.name not in ours and not self.session_team.is_member(other.name):
                try:
                    outcomes.append(await self.send(box, f"{other.name}@{team}", mail))
                except Explained as error:
                    outcomes.append(Delivered(Address(other.name, team), error=str(error)))
        return outcomes

    async def unread(self, box: Mailbox, most: int) -> UnreadMail:
        """The oldest unread messages, urgent ones first. They stay unread."""
        waiting = urgent_first(each for each in await self.messages(box) if not each.is_read)
        return UnreadMail(waiting[:most], len(waiting[most:]))

    async def message(self, box: Mailbox, message_id: str) -> UnreadMail:
        """One message, read or not."""
        found = [each for each in await self.messages(box) if each.id == message_id]
        if not found:
            address = address_for(box)
            raise UnknownMessage(f"cannot find message {message_id[:64]!a} in the inbox of {address}: check the id")
        return UnreadMail(found[:1])

    async def mark(self, box: Mailbox, reading: UnreadMail) -> None:
        for address in await self._places(box):
            await self.files.mark(address, [message.id for message in reading.messages])

    async def pending(self, box: Mailbox) -> int:
        """How many messages are unread."""
        return sum(not each.is_read for each in await self.messages(box))

    async def configured_lead(self, team: str) -> str | None:
        """The lead that the configuration of a team names."""
        return (await self.files.config(team)).lead

    async def lead_of(self, team: str) -> Address | None:
        """The lead of a team; else that of the session's team; else the one of our settings, if it has mail."""
        for each in filter(None, (team, self.session_team.team)):
            lead = await self.configured_lead(each)
            if lead is not None:
                return Address(lead, each)
        ours = self._settings.lead_identity
        return Address(ours, team) if ours in await self.files.known(team) else None

    async def leave(self) -> None:
        """Remove the agents from the session's team, because the server ends."""
        await self._nudges.aclose()
        await self.session_team.aclose()

    async def aclose(self) -> None:
        await self.leave()
        await self._tasks.aclose()
        async with self._opening:
            if self._is_open:
                self._is_open = False
                await self.files.aclose()

    async def messages_at(self, address: Address, box: Mailbox) -> list[Message]:
        """The messages of one inbox, without those that were sent to an earlier owner of the name."""
        found = (await self.files.read(address)).messages
        return [each for each in found if not (each.sent_at is not None and each.sent_at < box.mail_since)]

    async def messages(self, box: Mailbox) -> list[Message]:
        """All that are in the inboxes of a name, read or not."""
        found = [await self.messages_at(address, box) for address in await self._places(box)]
        return [message for messages in found for message in messages]

    def _has_joined(self, member: Member) -> None:
        self._may_have_folder.set()
        self._joined(member)

    async def _places(self, box: Mailbox) -> list[Address]:
        """Where the mail of a name is; that of the lead of the session's team is in it."""
        found, team = self.addresses(box), self.session_team.team
        if team is not None and team != self._settings.team and box.principal == LOCAL:
            config = await self.files.config(team)
            lead = Address(box.identity, team)
            if config.lead == box.identity and lead not in found:
                found.append(lead)
        return found

    def _is_claude_codes(self, box: Mailbox, config: TeamConfig) -> bool:
        """Whether Claude Code runs the member of this name, so that its inbox is not ours."""
        if box.codex_id is not None or self.session_team.team != self._settings.team or box.identity == config.lead:
            return False
        member = config.member(box.identity)
        return member is not None and not member.is_external

    async def _recipient(self, to: str, ours: Recipients) -> Address:
        """The address of a name: an agent of ours, else a member of the session's team, else one of our own team."""
        address, team = address_of(to, self._settings.team), self.session_team.team
        if "@" in to or address.agent in ours.agents or team is None or not self.files.layout.has_team(team):
            return address
        is_there = address.agent in await self.files.known(team)
        is_ours = self._has_own_folder or address.agent in ours.names
        return Address(address.agent, team) if is_there or not is_ours else address

    def _sender(self, box: Mailbox, to: Address) -> Address:
        session = self.session_team.address(box.identity)
        return session if session is not None and session.team == to.team else address_for(box)

    async def _note_for_lead(self, box: Mailbox, delivered: Delivered, mail: Outgoing) -> None:
        team = self.session_team.team
        if delivered.id is None or team is None or delivered.to.team != team:
            return
        if delivered.to.agent == (await self.files.config(team)).lead:
            self._lead = delivered.to.agent
            self._nudges.mail_sent(letter(delivered.id, box.identity, mail.text, mail.summary))

    def _inbox_of_lead(self) -> str:
        return self.files.layout.inbox(Address(self._lead, self.session_team.team or ""))

    async def _unread_of_lead(self) -> frozenset[str]:
        try:
            inbox = await self.files.read(Address(self._lead, self.session_team.team or ""))
        except Explained as exc:
            logger.warning("cannot look into the inbox of the lead: %s", exc)
            return frozenset()
        return frozenset(message.id for message in inbox.messages if not message.is_read)

    async def _run_outbox(self, store: MailStore) -> None:
        while True:
            try:
                await store.outbox.run()
            except Unavailable as exc:
                logger.warning("messages that were sent are not checked for now: %s", exc)
                await asyncio.sleep(OUTBOX_PAUSE)


def address_for(box: Mailbox) -> Address:
    return Address(box.identity, box.team)
