"""Pure. Limits on the turns and tokens of agents.

An agent that reaches a limit is paused, not closed: it continues when the hour has passed, or when the limit is raised.
A limit of 0 means none.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from codex_mcp.base.settings.team import TeamSettings

HOUR: Final = 3600.0

NEAR: Final = 0.8
"""The part of a limit from which on results warn."""

TURNS_KEPT: Final = 10_000
"""Turns remembered at most, and so the highest effective limit: almost three turns a second."""


class AgentUsage(Struct, frozen=True):
    turns: tuple[float, ...] = ()
    """When its latest turns began, oldest first: as many as the limit on turns, and none without that limit."""
    tokens: int = 0


class Paused(Struct, frozen=True):
    """Why an agent may not have another turn, and until when; None means until a limit is raised."""

    reason: str
    until: float | None = None
    by: str = "limit"
    """What pauses it: a limit of the team, or that of the account."""


def with_turn(limits: TeamSettings, usage: AgentUsage, now: float) -> AgentUsage:
    kept = _turns_allowed(limits)
    return replace(usage, turns=(*usage.turns, now)[-kept:]) if kept else usage


def without_turn(usage: AgentUsage, began: float) -> AgentUsage:
    """A turn that was counted then has not begun."""
    turns = list(usage.turns)
    if began in turns:
        turns.remove(began)
    return replace(usage, turns=tuple(turns))


def with_earlier_turns(limits: TeamSettings, usage: AgentUsage, begun: Iterable[float]) -> AgentUsage:
    kept = _turns_allowed(limits)
    return replace(usage, turns=tuple(sorted((*begun, *usage.turns))[-kept:])) if kept else usage


def not_ahead(usage: AgentUsage, now: float) -> AgentUsage:
    """The usage by a clock that may have been set back: turns in the future count as begun just now.

    So setting the clock back frees no turns, and pauses no agent for longer than an hour.
    """
    if not usage.turns or usage.turns[-1] <= now:
        return usage
    return replace(usage, turns=tuple(min(turn, now) for turn in usage.turns))


def with_tokens(usage: AgentUsage, tokens: int) -> AgentUsage:
    return replace(usage, tokens=usage.tokens + max(tokens, 0))


def check(limits: TeamSettings, usage: AgentUsage, team_tokens: int, now: float) -> Paused | None:
    """Why this agent may not have another turn now, or None if it may. The limit that pauses longest comes first.

    No turn of the usage may be in the future (`not_ahead`).
    """
    return check_tokens(limits, usage, team_tokens) or _check_turns(limits, usage, now)


def check_tokens(limits: TeamSettings, usage: AgentUsage, team_tokens: int) -> Paused | None:
    """Why a turn that was counted already may not begin, or None if it may."""
    if limits.tokens_per_team and team_tokens >= limits.tokens_per_team:
        return Paused(
            f"cannot start a turn: the team has used {team_tokens} tokens, "
            f"and its limit is {limits.tokens_per_team}; raise tokens_per_team to go on"
        )
    if limits.tokens_per_thread and usage.tokens >= limits.tokens_per_thread:
        return Paused(
            f"cannot start a turn: this agent has used {usage.tokens} tokens, "
            f"and its limit is {limits.tokens_per_thread}; raise tokens_per_thread, or start another agent"
        )
    return None


def _check_turns(limits: TeamSettings, usage: AgentUsage, now: float) -> Paused | None:
    limit = _turns_allowed(limits)
    if not limit or len(usage.turns) < limit:
        return None
    first = usage.turns[-limit]
    if first <= now - HOUR:
        return None
    until = first + HOUR
    minutes = max(1, round((until - now) / 60))
    return Paused(
        f"cannot start a turn: this agent has begun {limit} turns in the last hour, which is its limit; "
        f"wait {minutes} min, or raise turns_per_hour",
        until,
    )


def warnings(limits: TeamSettings, usage: AgentUsage, team_tokens: int, now: float) -> list[str]:
    """A sentence for each limit that is nearly reached. No turn of the usage may be in the future (`not_ahead`)."""
    turns = sum(turn > now - HOUR for turn in usage.turns)
    used = (
        ("The team has used", team_tokens, limits.tokens_per_team, "tokens (tokens_per_team)"),
        ("This agent has used", usage.tokens, limits.tokens_per_thread, "tokens (tokens_per_thread)"),
        ("In the last hour, this agent has begun", turns, _turns_allowed(limits), "turns (turns_per_hour)"),
    )
    return [f"{who} {count} of {limit} {what}." for who, count, limit, what in used if limit and count >= NEAR * limit]


def _turns_allowed(limits: TeamSettings) -> int:
    return min(limits.turns_per_hour, TURNS_KEPT)
