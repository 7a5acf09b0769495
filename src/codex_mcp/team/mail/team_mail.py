"""Mail in the name of this server's agents: send, broadcast, read, count.

The database is opened by the first message that is sent or delivered. Reading and counting need only the files.
"""

from __future__ import annotations

import asyncio
import logging
import os
from collections.abc import Sequence
from typing import TYPE_CHECKING

from msgspec import Struct

from codex_mcp.base.settings.team import TeamSettings
from codex_mcp.base.tasks import TaskSet
from codex_mcp.mail.address import Address, address_of
from codex_mcp.mail.store_types import Delivered, Outgoing, UnknownMessage
from codex_mcp.state.contract import Unavailable
from codex_mcp.team.directory import Directory
from codex_mcp.team.records.store_session import StoreSession
from codex_mcp.team.roster import Member

if TYPE_CHECKING:
    from codex_mcp.mail.message import Message
    from codex_mcp.mail.store import MailStore

logger = logging.getLogger(__name__)

OUTBOX_PAUSE = 5.0
"""Seconds until the outbox is tried again after its database failed."""


class Reading(Struct, frozen=True):
    """Messages of an inbox, and how many more are unread."""

    messages: Sequence[Message]
    remaining: int = 0


class TeamMail:
    """All methods raise Refused, other Explained errors, and Unavailable."""

    def __init__(self, settings: TeamSettings, teams_dir: str, session: StoreSession, directory: Directory) -> None:
        self._settings = settings
        self._teams_dir = teams_dir
        self._session = session
        self._directory = directory
        self.roster = directory.roster
        self._store: MailStore | None = None
        self._opening = asyncio.Lock()
        self._is_open = False
        self._tasks = TaskSet()

    @property
    def has_folder(self) -> bool:
        """Whether the team has a folder. Without one, it has no mail."""
        return os.path.isdir(os.path.join(self._teams_dir, self._settings.team))

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
        address = address_of(to, self._settings.team)
        store = await self.opened()
        is_ours = address.team == self._settings.team and address.agent in await self._agents(member)
        return await store.send(address_for(member), address, mail, allow_unknown=is_ours)

    async def broadcast(self, member: Member, mail: Outgoing) -> list[Delivered]:
        """Send a message to everyone in the team except the sender, and say what became of each."""
        store = await self.opened()
        return await store.broadcast(address_for(member), self._settings.team, mail, also=await self._agents(member))

    async def unread(self, member: Member, most: int) -> Reading:
        """The oldest unread messages. They stay unread."""
        waiting = [each for each in (await self.files.read(address_for(member))).messages if not each.is_read]
        return Reading(waiting[:most], len(waiting[most:]))

    async def message(self, member: Member, message_id: str) -> Reading:
        """One message, read or not."""
        found = [each for each in (await self.files.read(address_for(member))).messages if each.id == message_id]
        if not found:
            address = address_for(member)
            raise UnknownMessage(f"cannot find message {message_id[:64]!a} in the inbox of {address}: check the id")
        return Reading(found)

    async def mark(self, member: Member, reading: Reading) -> None:
        await self.files.mark(address_for(member), [message.id for message in reading.messages])

    async def pending(self, member: Member) -> int:
        """How many messages are unread."""
        return await self.files.pending(address_for(member)) if self.has_folder else 0

    async def aclose(self) -> None:
        await self._tasks.aclose()
        async with self._opening:
            if self._is_open:
                self._is_open = False
                await self.files.aclose()

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
