"""The mail of all teams: send, read, mark, acknowledge, broadcast, count, prune.

Nothing here blocks the event loop. A message is sent when `send` returns: then it is in the inbox, on the disk, and if
a program without locks overwrites it, the outbox writes it again.
"""

from __future__ import annotations

import contextlib
import os
import time
import uuid
from typing import TYPE_CHECKING, ParamSpec, TypeVar

from msgspec.structs import asdict, replace

from codex_mcp.base.blocking import in_thread
from codex_mcp.base.errors import Explained
from codex_mcp.base.files import make_private_folder, open_regular, sync_folder
from codex_mcp.mail.address import Address, address_of, checked
from codex_mcp.mail.database import mail_database
from codex_mcp.mail.files.layout import Layout
from codex_mcp.mail.files.rewriting import Rewrite, rewrite
from codex_mcp.mail.files.versions import contents
from codex_mcp.mail.inbox_file import Inboxes
from codex_mcp.mail.message import Inbox, Message, NewMessage, Outgoing, record_of
from codex_mcp.mail.outbox import Outbox
from codex_mcp.mail.owners import has_ended
from codex_mcp.mail.registration import NewMember, Owner, owners_in, registered
from codex_mcp.mail.retention import Retention
from codex_mcp.mail.store_types import Delivered, UnknownMessage, UnknownRecipient, check_text, listed
from codex_mcp.mail.team_config import NO_TEAM, TeamConfig, config_in
from codex_mcp.mail.ulid import RANDOM_BYTES, ulid

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Sequence

P = ParamSpec("P")
T = TypeVar("T")


class MailStore:
    """Open it before use, and close it. All methods raise Refused, other Explained errors, and Unavailable."""

    def __init__(self, teams_dir: str, state_dir: str, clock: Callable[[], float] = time.time) -> None:
        self.layout = Layout(teams_dir)
        self.database = mail_database(state_dir)
        self._inboxes = Inboxes(self.layout)
        self.outbox = Outbox(self.layout, self._inboxes, self.database, clock)
        self._clock = clock

    async def open(self) -> None:
        """Raises Unavailable; then there is nothing to close."""
        await self.database.open()

    async def aclose(self) -> None:
        await self.database.aclose()

    async def send(
        self,
        sender: Address,
        to: Address,
        mail: Outgoing,
        *,
        allow_unknown: bool = False,
        also: Collection[str] = (),
    ) -> Delivered:
        """Send a message to one inbox. A recipient that the team does not know is refused unless it is allowed.

        `also` are names of the team that its files may not know yet.
        """
        check_text(mail.text)
        is_rechecked = await self._in_thread(self._prepare, checked(to), None if allow_unknown else also)
        now = self._clock()
        message = NewMessage(
            id=ulid(now, os.urandom(RANDOM_BYTES)),
            claude_id=str(uuid.uuid4()),
            sender=checked(sender),
            sent_at=now,
            **asdict(mail),
        )
        await self._write(to, message.id, record_of(message), is_rechecked=is_rechecked)
        return Delivered(to, message.id)

    async def broadcast(
        self, sender: Address, team: str, mail: Outgoing, also: Collection[str] = ()
    ) -> list[Delivered]:
        """Send a message to every member of a team except the sender, and say what became of each.

        `also` are names of members that its files may not know yet.
        """
        check_text(mail.text)
        names = [] if also and not self.layout.has_team(team) else await self._in_thread(self._members, team)
        outcomes = []
        for address in (Address(name, team) for name in dict.fromkeys([*names, *also])):
            if address != sender:
                try:
                    outcomes.append(await self.send(sender, address, mail, allow_unknown=address.agent in also))
                except Explained as error:
                    outcomes.append(Delivered(address, error=str(error)))
        return outcomes

    async def read(self, address: Address) -> Inbox:
        """The messages of an inbox. They stay unread."""
        return await self._in_thread(self._inboxes.read, checked(address))

    async def pending(self, address: Address) -> int:
        """How many messages are unread."""
        return sum(not message.is_read for message in (await self.read(address)).messages)

    async def mark(self, address: Address, ids: Collection[str]) -> list[str]:
        """Mark messages as read; return the ids of those that were unread."""
        return await self._in_thread(self._inboxes.mark, checked(address), frozenset(ids), self._draft_id())

    async def acknowledge(self, address: Address, message_id: str, answer: Outgoing) -> Delivered:
        """Answer the sender of a message, and mark it as read and acknowledged. A second time, nothing happens.

        The answer goes first: after a crash in between, acknowledging again sends it again.
        """
        message = await self._message(address, message_id)
        to = address_of(message.sender, message.sender_team or address.team)
        if message.is_acknowledged:
            return Delivered(to)
        mail = replace(answer, acknowledges=message.id)
        # The sender may have no inbox yet; but a message cannot make us create a team.
        is_allowed = await self._in_thread(self.layout.has_team, to.team)
        delivered = await self.send(address, to, mail, allow_unknown=is_allowed)
        await self._in_thread(self._inboxes.acknowledge, address, message, self._clock(), self._draft_id())
        return delivered

    async def prune(self, address: Address, retention: Retention) -> int:
        """Remove old messages that were read; return how many. Only for inboxes of our own agents."""
        return await self._in_thread(self._inboxes.prune, checked(address), retention, self._clock(), self._draft_id())

    async def register(
        self, team: str, agents: Sequence[NewMember], us: Owner, patience: float
    ) -> frozenset[str] | None:
        """Make these the agents of ours in a team; return the names that Claude Code's SendMessage now finds.

        Those of servers that have ended are removed. Without a team there are none. None: its file is broken, or
        being written, and nothing has changed.
        """
        return await self._in_thread(self._register, team, agents, us, patience)

    async def make_inbox(self, address: Address) -> None:
        """Make an empty inbox, so that others know this agent. One that is there stays as it is."""
        await self._in_thread(self._make_inbox, checked(address), self._draft_id())

    async def known(self, team: str) -> list[str]:
        """The names in a team: its members, and who has an inbox."""
        return await self._in_thread(self._known, team)

    async def teams(self) -> list[str]:
        return await self._in_thread(self.layout.teams)

    async def config(self, team: str) -> TeamConfig:
        """What is known of a team."""
        return await self._in_thread(self._config, team)

    async def _write(self, to: Address, message_id: str, record: str, *, is_rechecked: bool) -> None:
        draft = self.layout.draft(to, message_id)
        await self._in_thread(_create, draft)
        try:
            await self.outbox.intend(message_id, to, record, is_rechecked=is_rechecked)
        except Explained:
            await self._in_thread(os.unlink, draft)
            raise
        try:
            await self._in_thread(self._inboxes.append, to, record, message_id)
        except Explained:
            await self.outbox.forget(message_id)
            raise
        await self.outbox.written(message_id, is_rechecked=is_rechecked)

    async def _message(self, address: Address, message_id: str) -> Message:
        for message in (await self.read(address)).messages:
            if message.id == message_id:
                return message
        raise UnknownMessage(
            f"cannot find message {message_id[:64]!a} in the inbox of {address}: check the id, and whose inbox it is in"
        )

    def _draft_id(self) -> str:
        return ulid(self._clock(), os.urandom(RANDOM_BYTES))

    async def _in_thread(self, function: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        try:
            return await in_thread(function, *args, **kwargs)
        except OSError as error:
            raise Explained(
                f"cannot use the mail in {error.filename or self.layout.teams_dir}: {error.strerror or error}; "
                "check that the folder is there, and its permissions"
            ) from error

    # From here on everything runs in a thread.

    def _register(self, team: str, agents: Sequence[NewMember], us: Owner, patience: float) -> frozenset[str] | None:
        names: frozenset[str] | None = frozenset()

        def change(data: bytes) -> Rewrite | None:
            nonlocal names
            ended = frozenset(owner for owner in owners_in(data) if owner != us and has_ended(owner))
            found = registered(data, agents, us, ended)
            names = None if found is None else found.names
            return None if found is None or found.data == data else Rewrite(found.data)

        path = self.layout.config(checked(Address("a", team)).team)
        if os.path.exists(path) and (change(contents(path)) is not None or names is None):
            rewrite(path, f"{path}.tmp.{self._draft_id()}", change, patience)
        return names

    def _config(self, team: str) -> TeamConfig:
        data = contents(self.layout.config(team))
        return config_in(data) if data else NO_TEAM

    def _prepare(self, to: Address, also: Collection[str] | None) -> bool:
        """Check the recipient and make its folder. Returns whether a missing message there means a lost one.

        `also` are known besides those in the files; None: everyone is.
        """
        if also is not None and to.agent not in also:
            self._check_recipient(to, also)
        inboxes = self.layout.inboxes(to.team)
        if not os.path.isdir(inboxes):
            make_private_folder(inboxes)
            sync_folder(os.path.dirname(inboxes))
        member = self._config(to.team).member(to.agent)
        return member is None or member.is_external

    def _check_recipient(self, to: Address, also: Collection[str]) -> None:
        if not also and not self.layout.has_team(to.team):
            raise UnknownRecipient(
                f"cannot send to {to}: there is no team {to.team}; the teams are {listed(self.layout.teams())}"
            )
        known = list(dict.fromkeys([*self._known(to.team), *also]))
        if to.agent not in known:
            raise UnknownRecipient(f"cannot send to {to}: the team has no {to.agent}; it has {listed(known)}")

    def _make_inbox(self, address: Address, draft_id: str) -> None:
        inbox, draft = self.layout.inbox(address), self.layout.draft(address, draft_id)
        if os.path.lexists(inbox):
            return
        make_private_folder(self.layout.inboxes(address.team))
        _create(draft, b"[]\n")
        try:
            with contextlib.suppress(FileExistsError):
                os.link(draft, inbox)  # in one step, and never over what another program has written meanwhile
        finally:
            os.unlink(draft)

    def _known(self, team: str) -> list[str]:
        members = [member.name for member in self._config(team).members]
        return list(dict.fromkeys([*members, *self.layout.agents(team)]))

    def _members(self, team: str) -> list[str]:
        """Who gets a broadcast: the members, or all inboxes of a team without a configuration."""
        if not self.layout.has_team(checked(Address("a", team)).team):
            raise UnknownRecipient(
                f"cannot send to team {team}: it does not exist; the teams are {listed(self.layout.teams())}"
            )
        return [member.name for member in self._config(team).members] or self.layout.agents(team)


def _create(draft: str, data: bytes = b"") -> None:
    """An empty draft waits for its message; one with other bytes is the version that a message has replaced."""
    descriptor = open_regular(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW)
    try:
        os.write(descriptor, data)
    finally:
        os.close(descriptor)
