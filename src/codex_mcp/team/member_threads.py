"""The Codex threads of this server's agents: started, loaded again, discarded."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Mapping
from typing import Final

from msgspec.structs import replace

from codex_mcp.base.secrets.redact import redact
from codex_mcp.codex.core import CannotResume, ThreadDamaged, ThreadHeld, ThreadNotFound, ThreadSpec
from codex_mcp.team.agent import Agent, Holder
from codex_mcp.team.profile import context
from codex_mcp.team.records.store_session import StoreSession
from codex_mcp.team.roster import Member
from codex_mcp.threads.thread import Thread
from codex_mcp.threads.threads import Threads

logger = logging.getLogger(__name__)

HELD_DELAYS: Final = (0.05, 0.1, 0.2, 0.4, 0.8, 1.6, 3.2)
"""Seconds to wait for the Codex of a server that is gone. It ends some tenths of a second after its server."""

FORKED: Final = (
    "You are a copy of the agent of the conversation so far, with a name of your own. From now on this holds:"
)

NEW_THREAD: Final = "Your earlier conversation could not be loaded. What you need of it must be told to you again."


class MemberThreads:
    def __init__(self, threads: Threads, session: StoreSession, tools: tuple[Mapping[str, object], ...] = ()) -> None:
        """`tools` are those of the agents themselves."""
        self._threads = threads
        self._session = session
        self._tools = tools

    async def start(self, member: Member, spec: ThreadSpec) -> None:
        agent = member.agent
        block = context.context_block(agent.identity, agent.team, member.update_surroundings())
        given = spec.developer_instructions
        if spec.fork is not None:
            # Codex keeps the instructions in the conversation, which name the other agent.
            given = context.without_block(given or "")
            member.next_turn.add_preface(f"{FORKED}\n{block}")
        given = f"{given.rstrip()}\n\n{block}" if given else block
        spec = replace(spec, developer_instructions=given, tools=self._tools)
        self._attach(member, await self._threads.start(spec, agent.principal), spec)
        self._session.writer.hurry()  # done before the first turn ends

    async def load(self, member: Member) -> None:
        """Make sure that the thread is open here. If it cannot be resumed, start a new one with the same settings."""
        agent = member.agent
        spec = replace(agent.spec, cwd=agent.cwd)
        try:
            if member.thread_id is None:
                raise ThreadNotFound("it has no thread yet")
            thread = await self._resume(member.thread_id, agent, spec)
        except (ThreadNotFound, ThreadDamaged, CannotResume) as exc:
            logger.warning("the thread of agent %s cannot be resumed (%s); it gets a new one", agent.identity, exc)
            thread = await self._threads.start(replace(spec, tools=self._tools), agent.principal)
            if agent.turns:
                has_summary = bool(member.next_turn.notes.prefaces)
                warning = context.lost_conversation(agent.identity, str(exc), has_summary=has_summary)
                member.next_turn.add_warning(warning)
            member.next_turn.add_preface(NEW_THREAD)
        if thread is not member.thread:
            thread.open()
            self._attach(member, thread, spec)

    async def discard(self, thread: Thread | None) -> None:
        if thread is not None:
            await self._threads.discard(thread)

    async def let_go(self, thread: Thread) -> None:
        """Unload a thread once it is idle, so that another server's Codex can load it."""
        await thread.until_idle()
        await self._threads.unload(thread)

    async def _resume(self, thread_id: str, agent: Agent, spec: ThreadSpec) -> Thread:
        """The thread, which the Codex of a server that is gone may hold for a while."""
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

    def _attach(self, member: Member, thread: Thread, spec: ThreadSpec) -> None:
        core, owner = self._threads.supervisor, self._session.owner
        member.attach(
            thread,
            spec=stored_spec(spec),
            holder=Holder(owner.pid, owner.host, core.mark),
            backend=f"{core.backend} {core.version}",
        )
        self._session.writer.note(member)


def stored_spec(spec: ThreadSpec) -> ThreadSpec:
    """A spec as a record holds it: without secrets, which the caller must give again."""
    return replace(
        spec,
        tools=(),  # those of the server that runs the agent count
        fork=None,
        config={key: value for key, value in spec.config.items() if redact(f"{key}={value}") == f"{key}={value}"},
        base_instructions=spec.base_instructions and redact(spec.base_instructions),
        developer_instructions=spec.developer_instructions and redact(spec.developer_instructions),
    )
