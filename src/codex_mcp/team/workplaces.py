"""The worktrees of agents: made when an agent starts, made again when it resumes, removed when it is closed."""

from __future__ import annotations

import asyncio
import logging
import os
from collections.abc import Callable, Sequence
from typing import Final, TypeVar

from msgspec.structs import replace

from codex_mcp.base.blocking import in_thread
from codex_mcp.base.errors import Explained, Refused
from codex_mcp.base.settings.environments import is_elsewhere
from codex_mcp.codex.core import ThreadSpec
from codex_mcp.git.making import Made, WantedWorktree, make, undo
from codex_mcp.git.records import read_record
from codex_mcp.git.removing import close, open_again
from codex_mcp.git.worktree import Left, WorktreeState, places
from codex_mcp.team.agent import Agent
from codex_mcp.team.roster import Member

logger = logging.getLogger(__name__)

END_PATIENCE = 30.0
"""Seconds that a cancelled caller waits. If the disk does not answer, the record tells later what is half-made."""

GONE: Final = "The folder {} of the agent is gone; its commands fail."
MADE_AGAIN: Final = "The folder {} of the agent was gone; it was made again from the agent's branch."

Arg = TypeVar("Arg")
Done = TypeVar("Done")


class Workplaces:
    def __init__(self, state_dir: str) -> None:
        self._state_dir = state_dir

    async def make(self, member: Member, spec: ThreadSpec) -> ThreadSpec:
        """Make a worktree; return the spec of a thread in it. Raises Refused, GitFailed."""
        agent, cwd = member.agent, spec.cwd or member.agent.cwd
        if spec.is_remote:
            raise Refused("cannot make a worktree: the agent's commands run on an exec-server; leave out `worktree`")
        asked = WantedWorktree(agent.codex_id, agent.identity, cwd, self._state_dir)
        member.change(worktree=asked.path)  # before it is made, so that `undo` finds what is left of it
        made = await _to_the_end(make, asked)
        self._placed(member, made)
        return replace(spec, cwd=made.worktree.cwd, base=made.worktree.base, entries=places(made.worktree))

    async def make_again(self, member: Member) -> None:
        """Before an agent goes on: make sure that its worktree is there. Raises Refused, GitFailed."""
        worktree = None if member.agent.worktree is None else await in_thread(read_record, member.agent.worktree)
        if worktree is not None:
            made = await _to_the_end(open_again, worktree)
            self._placed(member, made)

    async def restore(self, member: Member) -> None:
        """Before the next turn of an idle agent: if somebody has removed its folder, make it again, or say so.

        Raises Refused, GitFailed.
        """
        cwd = member.agent.cwd
        if is_elsewhere(member.agent.environment):
            return
        is_gone = not await in_thread(os.path.isdir, cwd)
        if member.agent.worktree is not None:
            await self.make_again(member)  # which also looks for links in the place of its folders
        if is_gone:
            member.next_turn.add_warning((GONE if member.agent.worktree is None else MADE_AGAIN).format(cwd))

    async def undo(self, member: Member) -> None:
        """Remove the worktree of an agent that could not be started, with its branch."""
        worktree = None if member.agent.worktree is None else await in_thread(read_record, member.agent.worktree)
        if worktree is not None:
            await _to_the_end(undo, replace(worktree, is_new=True))

    async def close(self, agent: Agent, others: Sequence[str] = ()) -> Left | None:
        """Remove the worktree of a closed agent, unless something would be lost or `others` work in it; None if it has
        none."""
        worktree = None if agent.worktree is None else await in_thread(read_record, agent.worktree)
        if worktree is None:
            return None
        if others and worktree.state is WorktreeState.READY:
            return Left(worktree, f"other agents in it: {', '.join(others)}")
        try:
            return await _to_the_end(close, worktree)
        except (Explained, OSError) as exc:
            logger.warning("the worktree of agent %s was not removed: %s", agent.identity, exc)
            return Left(worktree, str(exc))

    def _placed(self, member: Member, made: Made) -> None:
        worktree = made.worktree
        member.change(cwd=worktree.cwd, worktree=worktree.record)
        for warning in made.warnings:
            member.next_turn.add_warning(warning)


async def _to_the_end(act: Callable[[Arg], Done], given: Arg) -> Done:
    """Run it in a thread. A caller that is cancelled waits for its end, so that nothing half-made is left behind."""
    doing = in_thread(act, given)
    try:
        return await asyncio.shield(doing)
    except asyncio.CancelledError:
        await asyncio.wait([doing], timeout=END_PATIENCE)
        raise
