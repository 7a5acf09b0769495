"""Keeps this server's agents registered in the team of a Claude Code session, so that its SendMessage reaches them.

The team's folder may appear late, disappear and come back, and Claude Code rewrites its configuration: each change of
the file, of the agents or of their number leads to one look, which writes only what differs.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import Callable
from typing import TYPE_CHECKING, Final

from codex_mcp.base.errors import Explained
from codex_mcp.base.tasks import TaskSet
from codex_mcp.mail.address import Address
from codex_mcp.team.roster import Member, Roster

if TYPE_CHECKING:
    from codex_mcp.mail.registration import NewMember, Owner
    from codex_mcp.mail.store import MailStore

logger = logging.getLogger(__name__)

PATIENCE: Final = 1.0
"""Seconds to wait for the locks of the configuration. Claude Code holds its own for milliseconds."""

RETRY: Final = 1.0
"""Seconds after which a registration that failed is tried again."""


class SessionTeam:
    """Does nothing until `begin`, and nothing at all without a team. `joined` is told of each agent that was added."""

    def __init__(
        self, team: str | None, roster: Roster, files: Callable[[], MailStore], joined: Callable[[Member], None]
    ) -> None:
        self.team = team
        self.has_joined = asyncio.Event()
        """Set while at least one agent is registered."""
        self._roster = roster
        self._files = files
        self._joined = joined
        self._is_wanted: Callable[[Member], bool] = lambda _: False
        self._names: frozenset[str] = frozenset()
        self._refused: frozenset[str] = frozenset()
        self._us: Owner | None = None
        self._stale = asyncio.Event()
        self._tasks = TaskSet()
        self._keeping: asyncio.Task[None] | None = None
        self._is_ending = False

    def begin(self, is_wanted: Callable[[Member], bool]) -> None:
        """Register the agents of which this is true, now and after each change."""
        self._is_wanted = is_wanted
        self._stale.set()
        if self.team is not None and self._keeping is None and not self._is_ending:
            self._keeping = self._tasks.spawn(self._keep(self.team), name=f"registration in team {self.team}")
            self._tasks.spawn(self._watch(self.team), name=f"watch of team {self.team}")

    def agents_changed(self) -> None:
        self._stale.set()

    def address(self, name: str) -> Address | None:
        """The address of an agent in the session's team; None while it is not a member of it."""
        return Address(name, self.team) if self.team is not None and name in self._names else None

    def is_refused(self, name: str) -> bool:
        """Whether the session's team has another member of this name, whose inbox we must not touch."""
        return name in self._refused

    def is_member(self, name: str) -> bool:
        return name in self._names

    async def aclose(self) -> None:
        """Remove all agents from the team. A failure is only logged: the next server removes them."""
        self._is_ending = True
        self._stale.set()
        if self._keeping is not None:
            await asyncio.wait([self._keeping])  # a write that has begun in a thread cannot be cancelled
        await self._tasks.aclose()

    async def _watch(self, team: str) -> None:
        from codex_mcp.mail.watch import config_changes  # noqa: PLC0415  only under Claude Code

        async with contextlib.aclosing(config_changes(self._files().layout, team)) as changes:
            async for _ in changes:
                self._stale.set()

    async def _keep(self, team: str) -> None:
        """Register the wanted agents after each change, and remove all of them at the end."""
        is_last = False
        while not is_last:
            await self._stale.wait()
            self._stale.clear()
            is_last = self._is_ending
            wanted = [member for member in self._roster if self._is_wanted(member) and not is_last]
            try:
                await self._register(team, wanted)
            except Explained as exc:
                logger.warning("cannot change the members of team %s now: %s", team, exc)
                await self._pause(RETRY)

    async def _pause(self, seconds: float) -> None:
        """Wait for a change, or for so long."""
        if not self._is_ending:
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(seconds):
                    await self._stale.wait()
            self._stale.set()

    async def _register(self, team: str, members: list[Member]) -> None:
        from codex_mcp.mail.owners import this_process  # noqa: PLC0415  only under Claude Code

        self._us = self._us or this_process()
        before, agents = self._names, [_entry(member, team) for member in members]
        names = await self._files().register(team, agents, self._us, PATIENCE)
        if names is None:
            return  # it is being written, and the end of that is a change
        self._names = names
        has_team = self._files().layout.has_team(team)
        refused = frozenset(agent.name for agent in agents if has_team and agent.name not in self._names)
        for name in refused - self._refused:
            logger.warning("agent %s is not registered in team %s: the team has another member so named", name, team)
        self._refused = refused
        for member in members:
            if member.agent.identity in self._names - before:
                logger.info("agent %s is a member of team %s", member.agent.identity, team)
                self._joined(member)
        if self._names:
            self.has_joined.set()
        else:
            self.has_joined.clear()


def _entry(member: Member, team: str) -> NewMember:
    from codex_mcp.mail.registration import NewMember  # noqa: PLC0415  only under Claude Code

    agent = member.agent
    return NewMember(
        agent_id=f"{agent.identity}@{team}",
        name=agent.identity,
        agent_type="codex",
        model="codex" if agent.spec.model is None else agent.spec.model,
        joined_at=round(agent.started_at * 1000),
        cwd=agent.cwd,
    )
