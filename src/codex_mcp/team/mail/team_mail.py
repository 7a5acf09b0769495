"""Mail in the name of this server's agents: send, broadcast, read, count.

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
from codex_mcp.base.settings.team import TeamSettings
from codex_mcp.base.tasks import TaskSet
from codex_mcp.mail.address import Address, address_of
from codex_mcp.mail.store_types import Delivered, Outgoing, UnknownMessage
from codex_mcp.state.contract import Unavailable
from codex_mcp.team.directory import Directory
from codex_mcp.team.mail.claude_session import NO_SESSION, ClaudeSession, letter, session_team
from codex_mcp.team.mail.nudges import Nudges
from codex_mcp.team.mail.session_team import SessionTeam
from codex_mcp.team.records.store_session import StoreSession
from codex_mcp.team.roster import Member

if TYPE_CHECKING:
    from codex_mcp.mail.message import Message
    from codex_mcp.mail.store import MailStore

logger = logging.getLogger(__name__)

OUTBOX_PAUSE = 5.0
"""Seconds until the outbox is tried again after its database failed."""


Joined = Callable[[Member], None]


class MailPlace(Struct, frozen=True):
    """Where the folders of all teams are, and the session of Claude Code that has started this server."""

    teams_dir: str
    claude: ClaudeSession = NO_SESSION


class Reading(Struct, frozen=True):
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
        self._directory = directory
        self.roster = directory.roster
        team = session_team(place.claude, settings.team)
        self.session_team = SessionTeam(team, directory.roster, lambda: self.files, joined)
        self._nudges = Nudges(place.claude.wire, self._inbox_of_lead, self._unread_of_lead)
        self._lead = ""
        """Of the session's team."""
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
        """Wait until an agent is a member of a session's team, or for so long."""
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await self.session_team.has_joined.wait()

    def addresses(self, member: Member) -> list[Address]:
        """Where the mail of an agent is, in teams that have a folder."""
        own, session = address_for(member), self.session_team.address(member)
        found = [session] if session is not None else []
        is_others = own.team == self.session_team.team and self.session_team.is_refused(own.agent)
        if own != session and not is_others and self._has_own_folder:
            found.append(own)
        return found

    def watched(self, member: Member) -> list[Address]:
        """Where mail of an agent may come to be."""
        teams = filter(None, dict.fromkeys([self._settings.team, self.session_team.team]))
        return [Address(member.agent.identity, team) for team in teams]

    @property
    def files(self) -> MailStore:
        """The store without its database: enough for reading, marking and counting."""
        if self._store is None:
            from codex_mcp.mail.store import MailStore  # noqa: PLC0415  most servers never need it

            self._store = MailStore(self._teams_dir, self._settings.state_dir)
        return self._store

    async def opened(self) -> MailStore:
        """The store with its database, opened once."""
        async with self._opening:
            if not self._is_open:
                await self._session.ready()  # it has made the state folder
                await self.files.open()
                self._is_open = True
                self._tasks.spawn(self._run_outbox(self.files), name="outbox of the mail")
        return self.files

    async def send(self, member: Member, to: str, mail: Outgoing) -> Delivered:
        """Send a message from an agent to `agent` or `agent@team`."""
        ours = await self._agents(member)
        address = await self._recipient(to, ours)
        store = await self.opened()
        is_ours = address.team == self._settings.team and address.agent in ours
        delivered = await store.send(self._sender(member, address), address, mail, allow_unknown=is_ours)
        await self._note_for_lead(member, delivered, mail)
        return delivered

    async def broadcast(self, member: Member, mail: Outgoing) -> list[Delivered]:
        """Send a message to everyone in the teams except the sender, and say what became of each."""
        store, ours = await self.opened(), await self._agents(member)
        outcomes = await store.broadcast(address_for(member), self._settings.team, mail, also=ours)
        team = self.session_team.team
        if team is None or team == self._settings.team:
            return outcomes
        for other in (await store.config(team)).members:
            if other.name not in ours and not self.session_team.is_member(other.name):
                try:
                    outcomes.append(await self.send(member, f"{other.name}@{team}", mail))
                except Explained as error:
                    outcomes.append(Delivered(Address(other.name, team), error=str(error)))
        return outcomes

    async def unread(self, member: Member, most: int) -> Reading:
        """The oldest unread messages. They stay unread."""
        waiting = [each for each in await self._messages(member) if not each.is_read]
        return Reading(waiting[:most], len(waiting[most:]))

    async def message(self, member: Member, message_id: str) -> Reading:
        """One message, read or not."""
        found = [each for each in await self._messages(member) if each.id == message_id]
        if not found:
            address = address_for(member)
            raise UnknownMessage(f"cannot find message {message_id[:64]!a} in the inbox of {address}: check the id")
        return Reading(found[:1])

    async def mark(self, member: Member, reading: Reading) -> None:
        for address in self.addresses(member):
            await self.files.mark(address, [message.id for message in reading.messages])

    async def pending(self, member: Member) -> int:
        """How many messages are unread."""
        return sum([await self.files.pending(address) for address in self.addresses(member)])

    async def lead_of(self, team: str) -> Address | None:
        """The lead of a team or, if its configuration names none, of the session's team."""
        for each in filter(None, (team, self.session_team.team)):
            lead = (await self.files.config(each)).lead
            if lead is not None:
                return Address(lead, each)
        return None

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

    async def _messages(self, member: Member) -> list[Message]:
        inboxes = [await self.files.read(address) for address in self.addresses(member)]
        return [message for inbox in inboxes for message in inbox.messages]

    async def _recipient(self, to: str, ours: Sequence[str]) -> Address:
        """The address of a name: an agent of ours, else a member of the session's team, else one of our own team."""
        address, team = address_of(to, self._settings.team), self.session_team.team
        if "@" in to or address.agent in ours or team is None or not self.files.layout.has_team(team):
            return address
        is_there = address.agent in await self.files.known(team)
        return Address(address.agent, team) if is_there or not self._has_own_folder else address

    def _sender(self, member: Member, to: Address) -> Address:
        session = self.session_team.address(member)
        return session if session is not None and session.team == to.team else address_for(member)

    async def _note_for_lead(self, member: Member, delivered: Delivered, mail: Outgoing) -> None:
        team = self.session_team.team
        if delivered.id is None or team is None or delivered.to.team != team:
            return
        if delivered.to.agent == (await self.files.config(team)).lead:
            self._lead = delivered.to.agent
            self._nudges.mail_sent(letter(delivered.id, member.agent.identity, mail.text, mail.summary))

    def _inbox_of_lead(self) -> str:
        return self.files.layout.inbox(Address(self._lead, self.session_team.team or ""))

    async def _unread_of_lead(self) -> frozenset[str]:
        try:
            inbox = await self.files.read(Address(self._lead, self.session_team.team or ""))
        except Explained as exc:
            logger.warning("cannot look into the inbox of the lead: %s", exc)
            return frozenset()
        return frozenset(message.id for message in inbox.messages if not message.is_read)

    async def _agents(self, member: Member) -> list[str]:
        """The agents of the same principal that are not closed, wherever they run. They may have no inbox yet."""
        agents = await self._directory.agents(member.agent.principal)
        return [agent.identity for agent in agents if not agent.is_closed]

    async def _run_outbox(self, store: MailStore) -> None:
        while True:
            try:
                await store.outbox.run()
            except Unavailable as exc:
                logger.warning("messages that were sent are not checked for now: %s", exc)
                await asyncio.sleep(OUTBOX_PAUSE)


def address_for(member: Member) -> Address:
    return Address(member.agent.identity, member.agent.team)
