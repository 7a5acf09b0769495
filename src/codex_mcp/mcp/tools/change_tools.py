"""`codex_diff`: what an agent has changed, in its last turn, since it began, or without committing it."""

from __future__ import annotations

import logging
import os
from collections.abc import Sequence
from typing import Final

from msgspec import Struct

from codex_mcp.base.blocking import in_thread
from codex_mcp.base.errors import Refused
from codex_mcp.base.settings.environments import is_elsewhere
from codex_mcp.git.diffs import Diff, Wanted, diff_of
from codex_mcp.git.looking import changed_since
from codex_mcp.git.publishing import publish
from codex_mcp.git.records import read_record
from codex_mcp.git.running import Git, GitFailed
from codex_mcp.git.start import StartPoint
from codex_mcp.git.worktree import Worktree
from codex_mcp.mcp.calls.call import Call
from codex_mcp.mcp.resources.diff import diff, stat_of
from codex_mcp.mcp.resources.history import ThreadHistory
from codex_mcp.mcp.schema.results import Result, written
from codex_mcp.mcp.schema.team_catalogue import CODEX_DIFF, DiffArguments
from codex_mcp.mcp.tools.dispatch import Bodies
from codex_mcp.team.agent import Agent
from codex_mcp.team.team import Team
from codex_mcp.threads.record import Status
from codex_mcp.threads.threads import Threads
from codex_mcp.threads.turn import Turn

logger = logging.getLogger(__name__)

LONGEST: Final = 40_000
"""Characters of a result. A model reads some 10,000 tokens of a diff, and asks for a part of a longer one."""

READ_AHEAD: Final = 4 * 1024 * 1024
"""Bytes of the history that are read for patches."""

CUT: Final = "\n(The diff is longer and was cut at a line. {rest})"
REST: Final = (
    "`git -C {cwd} diff {base}` shows all of it, except for new files, which"
    " `git -C {cwd} ls-files --others --exclude-standard` lists; `stat: true` lists all files."
)
NOTHING: Final = "Nothing has changed."
NO_PATCH: Final = "There are no patches{where}. What its commands changed is not known here{instead}."
REMOVED: Final = "the worktree of {identity} is gone; `of: thread` shows what its branch {branch} has"


class _Asked(Struct, frozen=True):
    agent: Agent
    is_stat: bool
    codex_home: str


class ChangeTools:
    def __init__(self, threads: Threads, team: Team, codex_home: str) -> None:
        self._threads = threads
        self._team = team
        self._codex_home = codex_home
        self._history = ThreadHistory(threads, codex_home, READ_AHEAD)

    def bodies(self) -> Bodies:
        return [(CODEX_DIFF, self._codex_diff)]

    async def _codex_diff(self, call: Call, arguments: DiffArguments) -> Result:
        reference = await self._team.directory.find_one(arguments.references, call.principal)
        agent = await self._team.directory.find(reference, call.principal)
        asked = _Asked(agent, arguments.stat, self._codex_home)
        if is_elsewhere(asked.agent.environment) and arguments.of == "uncommitted":
            raise Refused("there is no such diff: the agent's files are on another machine; use `of: thread`")
        match arguments.of:
            case "uncommitted":
                found = await in_thread(_compared, asked, None)
            case "thread":
                found = await self._of_thread(asked)
            case _:
                found = await self._of_turn(asked, call.principal)
        return written(found)

    async def _of_thread(self, asked: _Asked) -> str:
        worktree = await in_thread(_worktree, asked.agent)
        if worktree is None:
            return await self._patches(asked, last=False)
        return await in_thread(_compared, asked, worktree.base)

    async def _of_turn(self, asked: _Asked, principal: str) -> str:
        member = self._team.roster.called(asked.agent.codex_id, principal)
        turns = [] if member is None or member.thread is None else member.thread.turns
        known = [(turn, start) for turn in turns if (start := self._threads.looks.start_of(turn)) is not None]
        if not known:
            return await self._patches(asked, last=True)
        return await in_thread(_of_known_turn, asked, *known[-1])

    async def _patches(self, asked: _Asked, *, last: bool) -> str:
        """The patches of the thread, or of its last turn, which Codex has kept."""
        if asked.agent.thread_id is None:
            return NOTHING
        thread = await self._history.thread(asked.agent.thread_id)
        kept = await self._history.turns(thread)
        turns = kept.turns[-1:] if last else kept.turns
        text = diff(thread, turns, is_cut=kept.is_cut and not last)
        if not text:
            return NO_PATCH.format(where=" of its last turn" if last else "", instead=_instead(asked.agent))
        text = stat_of(text) if asked.is_stat else text
        found = Diff(text[:LONGEST], len(text) > LONGEST, "")
        return _shown(found, f"The resource codex://threads/{thread.id}/diff has all of it.")


def _instead(agent: Agent) -> str:
    """Which diff has what commands changed."""
    if agent.worktree is not None:
        return "; `of: thread` shows everything since the agent began"
    return "; `of: uncommitted` shows what is not committed" if agent.repo_name is not None else ""


def _of_known_turn(asked: _Asked, turn: Turn, start: StartPoint) -> str:
    """The files of a turn; those of now, if it was stopped or still runs. Blocks."""
    root, outcome = start.position.root, turn.outcome
    paths = {os.path.relpath(_without_links(change.path), root) for change in outcome.files}
    if outcome.status is not Status.COMPLETED:
        paths |= {change.path.decode(errors="replace") for change in changed_since(start, asked.codex_home).files}
    return _compared(asked, start.commit, sorted(path for path in paths if not path.startswith("..")))


def _without_links(path: str) -> str:
    """The path of a file, which may itself be a link, in its real folder."""
    folder, name = os.path.split(path)
    return os.path.join(os.path.realpath(folder), name)


def _worktree(agent: Agent) -> Worktree | None:
    """The agent's worktree, with what it has committed up to now. Blocks."""
    worktree = None if agent.worktree is None else read_record(agent.worktree)
    if worktree is None:
        return None
    try:
        return publish(worktree).worktree
    except (GitFailed, OSError) as exc:
        logger.warning("the commits of agent %s could not be taken over: %s", agent.identity, exc)
        return worktree


def _compared(asked: _Asked, base: str | None, paths: Sequence[str] | None = None) -> str:
    """A commit and the files of the agent, or what its branch has if its worktree is gone. Blocks."""
    worktree = _worktree(asked.agent)
    cwd, until = asked.agent.cwd, None
    if worktree is not None and not os.path.isdir(worktree.path):
        if base != worktree.base:
            raise Refused(REMOVED.format(identity=worktree.identity, branch=worktree.branch))
        cwd, until = worktree.checkout, _tip(worktree)
    found = diff_of(cwd, Wanted(base, paths, until, asked.is_stat), LONGEST, asked.codex_home)
    if until is not None:
        return _shown(found, f"`git -C {cwd} diff {found.base} {until}` shows all of it; `stat: true` lists the files.")
    return _shown(found, REST.format(cwd=cwd, base=found.base))


def _tip(worktree: Worktree) -> str:
    """The last commit of its branch, which somebody else may have moved."""
    return Git(worktree.checkout).line("rev-parse", "--verify", "--quiet", f"{worktree.ref}^{{commit}}") or worktree.tip


def _shown(found: Diff, rest: str) -> str:
    if not found.text:
        return NOTHING
    if not found.is_cut:
        return found.text
    whole = found.text[: found.text.rfind("\n") + 1] or found.text
    return whole + CUT.format(rest=rest)
