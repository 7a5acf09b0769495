"""Whose mail a name is: a principal writes and reads as its own names, with or without an agent, and as no other.

The name of a running agent is its principal's, and so is every name that it used first (`state.names`): those of closed
agents, of agents that it has not started yet, and of its lead. A member of a team of Claude Code that Claude Code runs
is nobody's here; the lead of that team is the user whose session it is.
"""

from __future__ import annotations

from codex_mcp.base.errors import Refused
from codex_mcp.base.identity import why_invalid
from codex_mcp.base.principals import LOCAL
from codex_mcp.base.settings.team import TeamSettings
from codex_mcp.state.contract import NameOwned
from codex_mcp.team import refusals
from codex_mcp.team.agent import Mailbox, mailbox_of
from codex_mcp.team.directory import Directory
from codex_mcp.team.records.store_session import StoreSession


class Recipients:
    """What the principal of a sender has: `agents` that are not closed, and other `names`."""

    def __init__(self, agents: list[str], names: list[str]) -> None:
        self.agents = agents
        self.names = names

    @property
    def all(self) -> list[str]:
        return list(dict.fromkeys([*self.agents, *self.names]))


class Names:
    def __init__(self, settings: TeamSettings, session: StoreSession, directory: Directory) -> None:
        self._settings = settings
        self._session = session
        self._directory = directory

    async def mailbox(self, identity: str, principal: str, *, is_used: bool) -> Mailbox:
        """The mailbox of a name. Its principal becomes the owner of a new one that `is_used`. Raises Refused."""
        for member in self._directory.roster.of(principal):
            if member.agent.identity == identity:
                return member.mailbox
        if (why := why_invalid(identity)) is not None:
            raise Refused(why)
        if identity in await self._directory.withheld(principal):
            raise refusals.name_owned(identity)
        await self._session.ready()
        team, owner = self._settings.team, (await self._directory.owners()).get(identity)
        if owner not in (None, principal):
            raise refusals.name_owned(identity)
        since = 0.0
        if is_used or owner == principal:
            try:
                since = (await self._session.store.records.own(team, identity, principal)).since
            except NameOwned as exc:
                raise refusals.name_owned(identity) from exc
        agent = await self._directory.find_record(identity, principal)
        if agent is not None:
            return mailbox_of(agent)
        return Mailbox(identity=identity, team=team, principal=principal, mail_since=since)

    async def is_own(self, identity: str, principal: str) -> bool:
        """Whether a name is this principal's, without making it so. Names of nobody are the user's of this machine."""
        if any(member.agent.identity == identity for member in self._directory.roster.of(principal)):
            return True
        await self._session.ready()
        owner = (await self._directory.owners()).get(identity, LOCAL)
        return owner == principal

    async def own_names(self, principal: str) -> list[str]:
        """The names that are this principal's: those of its agents first, then those with mail alone, and its lead."""
        agents = {member.agent.identity for member in self._directory.roster.of(principal)}
        await self._session.ready()
        owned = [name for name, owner in (await self._directory.owners()).items() if owner == principal]
        lead = self._settings.lead_identity
        return [
            *dict.fromkeys([*sorted(agents), *sorted(owned), *([lead] if await self.is_own(lead, principal) else [])])
        ]

    async def own(self, identity: str, principal: str) -> None:
        """Mail was sent to a name that this principal may use: it is kept for it. Raises NameOwned."""
        await self._session.store.records.own(self._settings.team, identity, principal)

    async def recipients(self, sender: Mailbox) -> Recipients:
        """Names that the sender may write to before they have an inbox."""
        agents = await self._directory.agents(sender.principal)
        with_agent, owners = {agent.identity for agent in agents}, await self._directory.owners()
        names = [name for name, owner in owners.items() if owner == sender.principal and name not in with_agent]
        lead = self._settings.lead_identity
        if owners.get(lead, sender.principal) == sender.principal and lead not in with_agent:
            names.append(lead)
        return Recipients([agent.identity for agent in agents if not agent.is_closed], names)
