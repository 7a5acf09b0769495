"""`codex-mcp threads`: the agents of the state folder and their states."""

from __future__ import annotations

import argparse
import math
import time
from collections.abc import Mapping, Sequence
from typing import Final

from codex_mcp.base.printable import one_line
from codex_mcp.cli.output import SCHEMA, print_json, print_table, print_text, terminal_width
from codex_mcp.cli.state.agents import OPTIONAL, TITLES, chosen, entries, outdated, row
from codex_mcp.cli.state.folder import add_state_argument, agents_in, readable, state_settings
from codex_mcp.cli.state.pruning import pruned, removed_worktrees
from codex_mcp.cli.state.worktrees import entries as worktree_entries
from codex_mcp.cli.state.worktrees import forget, left_behind
from codex_mcp.git.worktree import Left
from codex_mcp.team.agent import Agent

DESCRIPTION: Final = "List the agents of the state folder: those that run, and those that can be resumed."

DAYS_KEPT: Final = 7.0
"""An agent that was not used for a week is unlikely to be resumed."""

DAY: Final = 86_400

LONGEST: Final = 100_000
"""Days: more than two centuries."""


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--repo", metavar="NAME", help="only agents of this repository: its name or folder")
    parser.add_argument("--identity", metavar="NAME", help="only agents with this name")
    parser.add_argument("--all", action="store_true", help="include closed agents")
    parser.add_argument(
        "--prune", action="store_true", help="remove agents that no server runs, their summaries and clean worktrees"
    )
    parser.add_argument(
        "--older-than",
        metavar="DAYS",
        type=_days,
        default=DAYS_KEPT,
        help="with --prune: unused for this long (default: 7)",
    )
    parser.add_argument("--json", action="store_true", help="print JSON")
    add_state_argument(parser)


def run(arguments: argparse.Namespace, environment: Mapping[str, str], cwd: str) -> int:
    settings = state_settings(arguments, environment, cwd)
    folder = settings.state_dir
    now = time.time()
    closed = arguments.all or arguments.prune
    with readable(folder):
        agents = chosen(agents_in(folder), repo=arguments.repo, identity=arguments.identity, closed=closed)
        worktrees = left_behind(folder, {agent.codex_id for agent in agents_in(folder) if agent.is_active})
    worktrees = [each for each in worktrees if arguments.identity in (None, each.identity)]
    if arguments.prune:
        before = now - arguments.older_than * DAY
        old = outdated(agents, before)
        spared = {agent.codex_id for agent in agents} - {agent.codex_id for agent in old}
        with readable(folder):
            left = removed_worktrees(settings, [each for each in worktrees if each.codex_id not in spared])
            removed = pruned(settings, old, before)
            forget(folder, {agent.codex_id for agent in agents_in(folder)})
        _print_removed(removed, left, now, as_json=arguments.json)
    elif arguments.json:
        listed = {"threads": entries(agents, now), "worktrees": worktree_entries(worktrees)}
        print_json({"schema": SCHEMA, "state_dir": folder, **listed})
    else:
        print_table(TITLES, [row(agent, now) for agent in agents], whole=1, optional=OPTIONAL)
        if not agents and terminal_width() is not None:
            print_text("no agents" if closed else "no agents are active or stale; --all lists closed ones too")
        for each in worktree_entries(worktrees):
            holds = each["holds"] or "nothing that a removal would lose; --prune removes it"
            where = f"worktree {each['path']} of {each['identity']}, branch {each['branch']}"
            print_text(one_line(f"{where}: it has {holds}"))
    return 0


def _print_removed(removed: Sequence[Agent], left: Sequence[Left], now: float, *, as_json: bool) -> None:
    gone = [each.worktree.path for each in left if each.why is None]
    kept = {each.worktree.path: each.why for each in left if each.why is not None}
    if as_json:
        print_json({"schema": SCHEMA, "removed": entries(removed, now), "worktrees": {"removed": gone, "kept": kept}})
        return
    if removed:
        print_table(TITLES, [row(agent, now) for agent in removed], whole=1, optional=OPTIONAL)
    print_text(f"{len(removed)} removed")
    for path in gone:
        print_text(f"worktree {path} removed; its branch is kept")
    for path, why in kept.items():
        print_text(one_line(f"worktree {path} kept: it has {why}"))


def _days(text: str) -> float:
    try:
        days = float(text)
    except ValueError:
        days = math.nan
    if not 0 <= days < LONGEST:
        raise argparse.ArgumentTypeError(f"cannot use {text!r}: it must be a number of days, such as 7 or 0.5")
    return days
