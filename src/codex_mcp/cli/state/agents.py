"""Pure. The agents of a state folder: filtered, sorted, and as rows of a table or JSON."""

from __future__ import annotations

from collections.abc import Container, Iterable, Sequence
from typing import Final

import msgspec

from codex_mcp.base.printable import age
from codex_mcp.team.agent import Agent, AgentStatus, with_living_owner
from codex_mcp.team.records.registry_text import registry_text

TITLES: Final = ("CODEX ID", "IDENTITY", "TEAM", "STATE", "SEEN", "TURNS", "REPO", "BRANCH")

OPTIONAL: Final = ("BRANCH", "REPO", "TEAM", "TURNS", "SEEN")
"""Columns that a narrow screen leaves out, the least important first."""


def as_they_are(agents: Iterable[Agent], living: Container[str]) -> list[Agent]:
    """The agents, latest first; those whose server is gone are stale. `living` has the ids of running servers."""
    seen = [with_living_owner(agent, living) for agent in agents]
    return sorted(seen, key=lambda agent: (-agent.last_active, agent.codex_id))


def chosen(agents: Iterable[Agent], *, repo: str | None, identity: str | None, closed: bool) -> list[Agent]:
    return [
        agent
        for agent in agents
        if repo in (None, agent.repo_name, agent.repo_root)
        and identity in (None, agent.identity)
        and (closed or agent.status is not AgentStatus.CLOSED)
    ]


def outdated(agents: Iterable[Agent], before: float) -> list[Agent]:
    return [agent for agent in agents if not agent.is_active and agent.last_active < before]


def row(agent: Agent, now: float) -> tuple[str, ...]:
    """The cells of an agent, one for each of TITLES."""
    return (
        agent.codex_id,
        agent.identity,
        agent.team,
        str(agent.thread_state if agent.is_active else agent.status),
        age(now - agent.last_active),
        str(agent.turns),
        agent.repo_name or "",
        agent.branch or "",
    )


def entries(agents: Sequence[Agent], now: float) -> list[object]:
    """The agents as the registry has them, for JSON."""
    text = msgspec.json.decode(registry_text(agents, 0, now))
    by_id = {entry["codex_id"]: entry for entry in text["sessions"]}
    return [by_id[agent.codex_id] for agent in agents]
