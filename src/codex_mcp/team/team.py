"""The team as this server knows it: starts agents, finds them, brings back those of servers that are gone.

Who may write about an agent is decided by the store alone (`state.contract`): an agent is ours from the claim to the
settling, and what another living server runs is named, never touched.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from typing import Final, TypeAlias

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from codex_mcp.base import identity
from codex_mcp.base.errors import Refused
from codex_mcp.base.secrets.redact import redact
from codex_mcp.base.settings.team import TeamSettings
from codex_mcp.codex.core import EXEC_ENVIRONMENT, CannotResume, ThreadHeld, ThreadNotFound, ThreadSpec, plain_id
from codex_mcp.state.contract import Claim, IdentityTaken, OwnedBy
from codex_mcp.team import refusals
from codex_mcp.team.agent import CODEX_ID_PREFIX, Agent, AgentStatus, Holder, abandoned
from codex_mcp.team.limits import Usage, limits_of, with_earlier_turns
from codex_mcp.team.looking import look_around
from codex_mcp.team.member import Member
from codex_mcp.team.profile import context
from codex_mcp.team.records import audit_entry
from codex_mcp.team.records.agent_store import read_agent, read_turn_starts
from codex_mcp.team.records.store_session import StoreSession
from codex_mcp.team.records.summaries import as_preface, read_summary
from codex_mcp.team.roster import Roster
from codex_mcp.threads.thread import Thread
from codex_mcp.threads.threads import Threads

logger = logging.getLogger(__name__)

ID_BYTES: Final = 6
"""Of a codex_id: short enough for a model to repeat, and no two alike in a lifetime of teams."""

NAME_ATTEMPTS: Final = 20
"""How often another server may snatch the default name that we have just chosen."""


HELD_DELAYS: Final = (0.05, 0.1, 0.2, 0.4, 0.8, 1.6, 3.2)
"""Seconds to wait for the Codex of a server that is gone. It ends some tenths of a second after its server."""


class Order(Struct, frozen=True, kw_only=True):
    """An agent to be."""

    spec: ThreadSpec
    principal: str
    identity: str | None = None
    default_identity: str
    role: str | None = None
    tag: str | None = None
    source: str | None = None
    """The agent file that it comes from."""
    request_id: str | None = None
    """Of a call that may be repeated."""


Begin: TypeAlias = Callable[[Member], Awaitable[None]]
"""Gives an agent the turn that it is started or resumed for. If that fails, the agent is not started or resumed."""


class Team:
    """Agents of one team."""

    def __init__(self, settings: TeamSettings, threads: Threads, store_session: StoreSession) -> None:
        self._settings = settings
        self._threads = threads
        self._session = store_session
        self.roster = Roster()
        self._naming = asyncio.Lock()
        """One at a time, else many that start at once would all try the same numbers."""

    # -- starting -----------------------------------------------------------------------------------------------------

    async def start(self, order: Order, begin: Begin | None = None) -> Member:
        """Start an agent.

        Whatever is refused on the way, `begin` included, leaves no agent: its name and its place are free again.
        """
        await self._session.ready()
        if order.identity is not None and (why := identity.why_invalid(order.identity)) is not None:
            raise Refused(why)
        self._check_capacity(order.principal)
        claim = await self._claimed_for(order)
        member = Member(self._new_agent(claim.thread, order))
        async with member.life, self._joining(member, claim):
            async with self._naming:
                await self._name(member, claim, order)
            await self._open(member, order.spec)
            if begin is not None:
                await begin(member)
        return member

    def _new_agent(self, codex_id: str, order: Order) -> Agent:
        now = time.time()
        return Agent(
            codex_id=codex_id,
            identity=order.identity or order.default_identity,
            team=self._settings.team,
            cwd=order.spec.cwd or os.getcwd(),
            started_at=now,
            last_active=now,
            tag=None if order.tag is None else audit_entry.shown(order.tag),  # it is in every list, for all to see
            role=order.role,
            agent_source=order.source,
            principal=order.principal,
            auto_mail=self._settings.auto_mail,
            owner=self._session.owner,
        )

    async def _claimed_for(self, order: Order) -> Claim:
        """The claim of a new agent. Of two servers that get the same request at the same time, one gets it."""
        codex_id = f"{CODEX_ID_PREFIX}{os.urandom(ID_BYTES).hex()}"
        claim = await self._claim(codex_id)
        if order.request_id is None:
            return claim
        name = f"{self._settings.team}/{order.request_id}"
        earlier = await self._session.store.records.once(claim, order.principal, name)
        if earlier is None or earlier.thread == codex_id:
            return claim
        await self._session.store.leases.release(claim)
        claim = await self._claim(earlier.thread)
        agent = await read_agent(self._session.store, earlier.thread)
        if agent is None:  # it could not be started, or was forgotten: only its id is left, and is used again
            return claim
        await self._session.store.leases.release(claim)
        raise refusals.just_started(agent)

    async def _claim(self, codex_id: str) -> Claim:
        claim = await self._session.store.leases.claim(codex_id)
        if isinstance(claim, OwnedBy):
            raise refusals.owned_elsewhere(await self._named(codex_id), claim.node)
        return claim

    async def _named(self, codex_id: str) -> Agent:
        known = await read_agent(self._session.store, codex_id)
        return known or Agent(
            codex_id=codex_id, identity="?", team=self._settings.team, cwd="", started_at=0.0, last_active=0.0
        )

    @contextlib.asynccontextmanager
    async def _joining(self, member: Member, claim: Claim) -> AsyncIterator[None]:
        """It is one of us from here on, unless it fails."""
        member.claim = claim
        try:
            self._check_capacity(member.agent.principal)  # again: others may have come meanwhile
            self.roster.add(member)
            yield
        except BaseException:
            await asyncio.shield(self._undo(member, self._session.writer.drop))
            raise

    async def _undo(self, member: Member, write_down: Callable[[Member], Awaitable[None]]) -> None:
        """Remove an agent that could not be started or resumed, and unload its thread."""
        thread, member.thread = member.thread, None
        self.roster.remove(member)
        await write_down(member)
        if thread is not None:
            await self._threads.discard(thread)

    async def _name(self, member: Member, claim: Claim, order: Order) -> None:
        records = self._session.store.records
        for _attempt in range(NAME_ATTEMPTS):
            taken = {binding.identity for binding in await records.bindings(self._settings.team) if binding.stands}
            name = identity.choose_identity(order.identity, order.default_identity, taken)
            member.agent = replace(member.agent, identity=name)
            try:
                await records.bind(claim, self._settings.team, name)
            except IdentityTaken as exc:
                if order.identity is not None:
                    raise await self._taken(name, exc.thread, order.principal) from exc
            else:
                return
        raise refusals.identity_taken(member.agent.identity, None)

    async def _taken(self, name: str, codex_id: str, principal: str) -> refusals.TeamRefused:
        holder = await self.recorded(codex_id, principal)
        owner = None if holder is None else holder.owner
        elsewhere = owner if owner is not None and owner.node != self._session.owner.node else None
        return refusals.identity_taken(name, holder, elsewhere)

    async def _open(self, member: Member, spec: ThreadSpec) -> None:
        """Begin its thread, with what it needs to know of itself."""
        member.is_elsewhere = spec.environment == EXEC_ENVIRONMENT
        told = look_around(member)
        agent = member.agent
        block = context.context_block(agent.identity, agent.team, told)
        spec = replace(spec, developer_instructions=_joined(spec.developer_instructions, block))
        thread = await self._threads.start(spec, agent.principal)
        self._has_thread(member, thread, spec)
        self._session.writer.hurry()  # its first turn takes longer than this

    def _has_thread(self, member: Member, thread: Thread, spec: ThreadSpec) -> None:
        member.thread = thread
        core = self._threads.supervisor
        member.agent = replace(
            member.agent,
            thread_id=thread.id,
            cwd=thread.cwd,
            spec=_remembered(spec),
            holder=Holder(self._session.owner.pid, self._session.owner.host, core.mark),
            backend=f"{core.backend} {core.version}",
        )
        self._session.writer.note(member)

    # -- finding ------------------------------------------------------------------------------------------------------

    async def find(self, reference: str, principal: str, *, resume: bool, begin: Begin | None = None) -> Member:
        """The agent by codex_id, identity or thread id, ready for a turn; `resume` also brings a closed one back.

        If `begin` fails, an agent that had to be brought back for it is again what it was.
        """
        await self._session.ready()
        member = self.roster.called(reference, principal)
        if member is None:
            agent = await self.recorded(reference, principal)
            if agent is None:
                raise refusals.not_found(reference)
            if agent.is_closed and not resume:
                raise refusals.closed(agent)
            # Meanwhile somebody else may have brought it back.
            member = self.roster.called(agent.codex_id, principal)
            if member is None:
                return await self._bring_back(agent, begin)
        async with member.life:
            if member not in self.roster:  # it was being closed, or could not be started
                return await self.find(member.agent.codex_id, principal, resume=resume, begin=begin)
            await self._loaded(member)
            if begin is not None:
                await begin(member)
        return member

    async def the_one(self, references: Sequence[str], principal: str) -> str:
        """What all of these name. Raises TeamRefused if that is not one agent."""
        first, *others = references
        if not others:
            return first
        agent = await self.recorded(first, principal)
        if agent is None:
            raise refusals.not_found(first)
        for other in others:
            if plain_id(other) not in (agent.codex_id, agent.identity, agent.thread_id):
                raise refusals.different_agents(agent, other)
        return agent.codex_id

    async def recorded(self, reference: str, principal: str) -> Agent | None:
        """The newest agent of this principal with this codex_id, identity or thread id, whoever runs it."""
        known = {agent.codex_id: agent for agent in await self._session.writer.agents()}
        known |= {member.agent.codex_id: member.record for member in self.roster}  # which may not be written yet
        found = [
            agent
            for agent in known.values()
            if agent.team == self._settings.team
            and agent.principal == principal
            and reference in (agent.codex_id, agent.identity, agent.thread_id)
        ]
        return max(found, key=lambda agent: (agent.is_active, agent.last_active), default=None)

    async def _bring_back(self, agent: Agent, begin: Begin | None) -> Member:
        """Resume an agent that nobody runs."""
        self._check_capacity(agent.principal)
        member = Member(replace(agent, status=AgentStatus.ACTIVE, owner=self._session.owner))
        member.summed_up = agent.status is AgentStatus.CLOSED
        member.usage = Usage(tokens=agent.tokens)
        async with member.life:
            self.roster.add(member)  # at once: whoever asks for it now waits for us
            try:
                claim = await self._claim(agent.codex_id)
            except BaseException:
                self.roster.remove(member)
                raise
            member.claim = claim
            try:
                await self._rejoin(member, claim)
                if begin is not None:
                    await begin(member)
            except BaseException:
                member.agent = abandoned(agent)
                await asyncio.shield(self._undo(member, self._session.writer.settle))
                raise
        return member

    async def _rejoin(self, member: Member, claim: Claim) -> None:
        agent = member.agent
        try:
            await self._session.store.records.bind(claim, agent.team, agent.identity)
        except IdentityTaken as exc:
            raise await self._taken(agent.identity, exc.thread, agent.principal) from exc
        summary = await asyncio.to_thread(
            read_summary, self._settings.state_dir, agent.identity, agent.thread_id or agent.codex_id
        )
        if summary is None:
            logger.warning("agent %s is resumed without a summary: it has none", agent.identity)
        else:
            member.prefaces.append(as_preface(summary))
        await self._recall_turns(member)
        member.told = context.Surroundings(agent.repo_root, agent.repo_name, agent.branch, agent.cwd)
        await self._loaded(member)
        member.touch()
        self._session.writer.note(member, {"event": "resumed"})

    async def _recall_turns(self, member: Member) -> None:
        limits = limits_of(self._settings)
        if limits.turns_per_hour:
            begun = await read_turn_starts(self._session.store, member.agent.codex_id)
            member.usage = with_earlier_turns(limits, member.usage, begun)

    async def _loaded(self, member: Member) -> None:
        """Make sure that its thread is open here; one that cannot be resumed is begun anew with what we remember."""
        agent = member.agent
        spec = _spec_of(agent)
        member.is_elsewhere = spec.environment == EXEC_ENVIRONMENT
        try:
            if member.thread_id is None:
                raise ThreadNotFound("it has no thread yet")
            thread = await self._found(member.thread_id, agent, spec)
        except (ThreadNotFound, CannotResume) as exc:
            logger.warning("the thread of agent %s cannot be resumed (%s); it gets a new one", agent.identity, exc)
            thread = await self._threads.start(spec, agent.principal)
            if agent.turns:
                has_summary = bool(member.prefaces)
                member.warnings.append(context.lost_conversation(agent.identity, str(exc), has_summary=has_summary))
            member.prefaces.append(NEW_THREAD)
        if thread is member.thread:
            return
        thread.open()
        self._has_thread(member, thread, spec)

    async def _found(self, thread_id: str, agent: Agent, spec: ThreadSpec) -> Thread:
        """The thread; of a server that was lost, once its Codex is dead as well."""
        principal = agent.principal
        for delay in HELD_DELAYS:
            try:
                return await self._threads.find(thread_id, principal, spec)
            except ThreadHeld as exc:
                if agent.holder is not None and await self._session.end_silent(agent.holder, thread_id):
                    continue
                logger.info("%s; trying again in %g s", exc, delay)
                await asyncio.sleep(delay)
        return await self._threads.find(thread_id, principal, spec)

    def _check_capacity(self, principal: str) -> None:
        if len(self.roster.of(principal)) >= self._settings.max_concurrent_threads:
            raise refusals.too_many(self._settings.max_concurrent_threads)


NEW_THREAD: Final = "Your earlier conversation could not be loaded. What you need of it must be told to you again."


def _joined(given: str | None, block: str) -> str:
    return f"{given.rstrip()}\n\n{block}" if given else block


def _remembered(spec: ThreadSpec) -> dict[str, object]:
    """A spec as it is kept: without secrets, which its caller must give again."""
    kept: dict[str, object] = msgspec.to_builtins(
        replace(
            spec,
            config={key: value for key, value in spec.config.items() if redact(f"{key}={value}") == f"{key}={value}"},
            base_instructions=spec.base_instructions and redact(spec.base_instructions),
            developer_instructions=spec.developer_instructions and redact(spec.developer_instructions),
        )
    )
    return kept


def _spec_of(agent: Agent) -> ThreadSpec:
    try:
        spec = msgspec.convert(agent.spec, ThreadSpec)
    except msgspec.ValidationError:
        spec = ThreadSpec()
    return replace(spec, cwd=agent.cwd)
