"""Finds agents in the state folder, whichever server runs them."""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable, Sequence

from codex_mcp.base.principals import LOCAL, PERSON
from codex_mcp.base.settings.team import TeamSettings
from codex_mcp.codex.core import plain_id
from codex_mcp.state.contract import Claim, LeaseLost, NameOwned, Node, OwnedBy, Unavailable
from codex_mcp.team import refusals
from codex_mcp.team.agent import Agent, AskedElsewhere, RequestKey, find_request, last_used, with_living_owner
from codex_mcp.team.records.agent_store import read_agent, read_questions
from codex_mcp.team.records.store_session import StoreSession
from codex_mcp.team.roster import Member, Roster

logger = logging.getLogger(__name__)


class Directory:
    """The agents of one team. Needs a store session that is ready, except where it says otherwise.

    `lead_of`: the lead of a team that the team's configuration names.
    """

    def __init__(
        self,
        settings: TeamSettings,
        roster: Roster,
        session: StoreSession,
        lead_of: Callable[[str], Awaitable[str | None]],
    ) -> None:
        self._settings = settings
        self.roster = roster
        self._session = session
        self._lead_of = lead_of

    async def agents(self, principal: str) -> list[Agent]:
        await self._session.ready()
        ours = {member.agent.codex_id: member.record for member in self.roster.of(principal)}
        living = {node.id for node in await self._session.store.leases.nodes() if node.alive}
        stored = await self._read_all(principal)
        return [*({key: with_living_owner(agent, living) for key, agent in stored.items()} | ours).values()]

    async def find_record(self, reference: str, principal: str) -> Agent | None:
        """The newest agent of this principal with this codex_id, identity or thread id."""
        known = await self._read_all(principal)
        ours = self.roster.called(reference, principal)  # maybe not stored yet
        for member in self.roster.of(principal):
            known.pop(member.agent.codex_id, None)
        found = [agent for agent in known.values() if reference in (agent.codex_id, agent.identity, agent.thread_id)]
        found += [] if ours is None else [ours.record]
        return max(found, key=lambda agent: (agent.is_active, agent.last_active), default=None)

    async def find(self, reference: str, principal: str) -> Agent:
        """The same, or TeamRefused if there is none. Waits for the session."""
        await self._session.ready()
        agent = await self.find_record(reference, principal)
        if agent is None:
            raise refusals.not_found(reference, {each.identity for each in await self.agents(principal)})
        return agent

    async def find_one(self, references: Sequence[str], principal: str) -> str:
        """A reference to the agent that all of these name. Raises TeamRefused. Waits for the session."""
        first, *others = references
        if not others:
            await self._session.ready()
            return first
        agent = await self.find(first, principal)
        for other in others:
            if plain_id(other) not in (agent.codex_id, agent.identity, agent.thread_id):
                raise refusals.different_agents(agent, other)
        return agent.codex_id

    async def find_requested(self, principal: str, request: RequestKey) -> Agent | None:
        agents = (await self._read_all(principal)).values()
        return next((agent for agent in agents if find_request(agent, request.id) is not None), None)

    async def last_used(self, identity: str | None, principal: str) -> Agent | None:
        """The inactive agent used last, of this identity if one is given. Waits for the session."""
        return last_used(await self.agents(principal), await self.taken_identities(principal), identity)

    async def taken_identities(self, principal: str) -> set[str]:
        """Names that a new agent of this principal cannot have: other agents have them, or other principals."""
        records = self._session.store.records
        others = {name for name, owner in (await self.owners()).items() if owner != principal}
        others |= await self.withheld(principal)
        return others | {each.identity for each in await records.bindings(self._settings.team) if each.stands}

    async def owners(self) -> dict[str, str]:
        """The principals of all names that belong to one."""
        names = await self._session.store.records.names(self._settings.team)
        return {name.name: name.principal for name in names if name.released is None}

    async def withheld(self, principal: str) -> set[str]:
        """Names that no token gives, for what the lead writes is obeyed: they are the user's of this machine."""
        if principal == LOCAL:
            return set()
        return {PERSON, *filter(None, (await self._lead_of(self._settings.team),))}

    async def bind(self, claim: Claim, member: Member, identity: str) -> None:
        """Give an agent a name, of which its principal becomes the owner. Raises NameOwned, IdentityTaken."""
        agent = member.agent
        if identity in await self.withheld(agent.principal):
            raise NameOwned(agent.team, identity)
        name = await self._session.store.records.own(agent.team, identity, agent.principal)
        member.change(identity=identity, mail_since=name.since)
        await self._session.store.records.bind(claim, agent.team, identity)

    async def living_owner(self, agent: Agent) -> Node | None:
        owner = await self._session.store.leases.owner(agent.codex_id)
        return owner if owner is not None and owner.alive else None

    async def run_elsewhere(self, references: Sequence[str], principal: str) -> refusals.RunElsewhere | None:
        """The other living server that runs all agents of these names, if there is one. Waits for the session."""
        await self._session.ready()
        found: refusals.RunElsewhere | None = None
        for reference in references:
            agent = await self.find_record(plain_id(reference), principal)
            owner = None if agent is None or not agent.is_active else await self.living_owner(agent)
            if agent is None or owner is None or owner.id == self._session.owner.node:
                return None
            if found is not None and found.node.id != owner.id:
                return None
            found = refusals.RunElsewhere(agent, owner)
        return found

    async def others(self) -> list[Node]:
        """The other living servers of the state; none before the session is open."""
        if not self._session.is_open:
            return []
        own = self._session.owner.node
        return [node for node in await self._session.store.leases.nodes() if node.alive and node.id != own]

    async def claim(self, codex_id: str) -> Claim:
        """Claim an agent for this server. Raises TeamRefused if another one runs it."""
        claim = await self._session.store.leases.claim(codex_id)
        if isinstance(claim, OwnedBy):
            agent = await read_agent(self._session.store, codex_id) or Agent(
                codex_id=codex_id, identity="?", team=self._settings.team, cwd="", started_at=0.0, last_active=0.0
            )
            raise refusals.owned_elsewhere(agent, claim.node)
        return claim

    async def identity_taken(self, identity: str, codex_id: str, principal: str) -> refusals.TeamRefused:
        agent = await self.find_record(codex_id, principal)
        owner = None if agent is None else agent.owner
        is_near = owner is None or owner.host == self._session.owner.host  # its server answers calls that come here
        return refusals.identity_taken(identity, agent, None if is_near else owner)

    def check_capacity(self, principal: str) -> None:
        """Refuse another agent if this principal has reached its limit. Raises TeamRefused."""
        if len(self.roster.of(principal)) >= self._settings.max_concurrent_threads:
            raise refusals.too_many(self._settings.max_concurrent_threads)

    async def asked_elsewhere(self, principal: str) -> list[AskedElsewhere]:
        """The open questions of this principal's agents that other living servers run; none if the store fails."""
        try:
            agents = {agent.codex_id: agent for agent in await self.agents(principal)}
            questions = await read_questions(self._session.store)
        except (LeaseLost, Unavailable) as exc:
            # Questions of our own agents can be answered all the same.
            logger.warning("cannot look for questions of other servers' agents: %s", exc)
            return []
        ours = {member.agent.codex_id for member in self.roster}
        return [
            AskedElsewhere(each.id, agent, agent.owner, each.question, each.answers)
            for each in questions
            if (agent := agents.get(each.codex_id)) and agent.owner is not None and agent.codex_id not in ours
        ]

    async def _read_all(self, principal: str) -> dict[str, Agent]:
        team = self._settings.team
        agents = await self._session.writer.agents()
        return {agent.codex_id: agent for agent in agents if (agent.team, agent.principal) == (team, principal)}
