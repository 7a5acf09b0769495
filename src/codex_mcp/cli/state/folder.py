"""Find and read the state folder, while servers may be running."""

from __future__ import annotations

import argparse
import contextlib
import os
from collections.abc import Iterator, Mapping

from codex_mcp.base.errors import Explained, Refused
from codex_mcp.base.settings.team import TeamSettings
from codex_mcp.cli.state.agents import as_they_are
from codex_mcp.config.load import load
from codex_mcp.state.embedded.flock import has_died, nodes_with_locks
from codex_mcp.team.agent import Agent
from codex_mcp.team.records import registry
from codex_mcp.team.records.registry import read_registry
from codex_mcp.team.records.summaries import Summary, read_summary


class UnreadableFolder(Explained):
    """The state folder exists and cannot be read."""


def add_state_argument(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--state-dir", metavar="DIR", help="the state folder (default: as in the settings)")


def state_folder(arguments: argparse.Namespace, environment: Mapping[str, str], cwd: str) -> str:
    """The folder of servers that are started here. Raises Refused if a folder was named that does not exist."""
    return state_settings(arguments, environment, cwd).state_dir


def state_settings(arguments: argparse.Namespace, environment: Mapping[str, str], cwd: str) -> TeamSettings:
    """The settings of servers that are started here. Raises Refused as `state_folder` does."""
    given = argparse.Namespace(state_dir=arguments.state_dir, state=getattr(arguments, "state", None))
    settings = load(given, environment, cwd).settings.team
    if arguments.state_dir is not None and not os.path.exists(settings.state_dir):
        raise Refused(f"cannot read the state folder {settings.state_dir}: it does not exist; check --state-dir")
    return settings


def agents_in(folder: str) -> list[Agent]:
    """All agents with their current state, latest first."""
    living = {node for node in nodes_with_locks(folder) if not has_died(folder, node)}
    return as_they_are(read_registry(os.path.join(folder, registry.FILE)), living)


def summaries_in(folder: str, reference: str) -> Iterator[tuple[str, str, Summary]]:
    """Identity, thread and summary of all agents with this codex_id, thread id or identity."""
    for agent in agents_in(folder):
        if agent.codex_id == reference:
            yield from _summary(folder, agent.identity, agent.thread_id or agent.codex_id)
    # Folders are searched too: summaries outlive their agents' entries in the registry.
    for identity in _names(folder):
        for thread in _names(os.path.join(folder, identity)):
            if reference in (identity, thread):
                yield from _summary(folder, identity, thread)


def _summary(folder: str, identity: str, thread: str) -> Iterator[tuple[str, str, Summary]]:
    with contextlib.suppress(Refused):  # a folder whose name cannot be an agent's
        if summary := read_summary(folder, identity, thread):
            yield identity, thread, summary


@contextlib.contextmanager
def readable(folder: str) -> Iterator[None]:
    """Turn an OSError into one sentence about the folder."""
    try:
        yield
    except OSError as exc:
        raise UnreadableFolder(
            f"cannot read the state folder {folder}: {exc.strerror or exc} ({exc.filename})",
            "check its permissions",
        ) from exc


def _names(folder: str) -> list[str]:
    try:
        return sorted(entry.name for entry in os.scandir(folder) if entry.is_dir(follow_symlinks=False))
    except FileNotFoundError:
        return []
