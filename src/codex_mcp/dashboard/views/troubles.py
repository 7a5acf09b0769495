"""Pure. What stops several agents at once: it is told once, and not for each of them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from msgspec import Struct

from codex_mcp.base.printable import counted, one_line
from codex_mcp.dashboard.views.facts import AgentFacts, FleetFacts, Window

SIGNED_OUT: Final = "Codex is not signed in"
ACCOUNT_LIMIT: Final = "usage limit"
"""How the errors and pauses of turns begin, or what they say, that concern the account."""

SERVER: Final = "server/"

ACCOUNT: Final = "account/"
"""How the keys of troubles begin that concern an account."""

PERIODS: Final = ((7 * 24 * 60, "week"), (24 * 60, "day"), (60, "hour"))


class Common(Struct, frozen=True, kw_only=True):
    """Something that concerns a whole server or an account."""

    key: str
    name: str
    sentence: str
    text: str
    command: str = ""
    """What to run in a terminal."""
    since: float


def common_troubles(facts: FleetFacts) -> Iterator[Common]:
    yield from _servers(facts)
    yield from _cores(facts)
    limited = next((each for each in facts.health if each.account.is_limited), None)
    if limited is not None:
        agents = [each for each in facts.agents if is_of_account(each)]
        since = min((each.used_at for each in agents), default=0.0)
        said = next((each.paused or each.last_error or "" for each in agents), "")
        yield Common(
            key="account/limit",
            name="The account",
            sentence="has reached its usage limit",
            text=one_line(said),
            since=since,
        )
    if is_signed_out(facts):
        since = min(each.used_at for each in facts.agents if _says(each, SIGNED_OUT))
        text = "Turns end until it is; agents keep what they know."
        yield Common(
            key="account/sign-in",
            name="Codex",
            sentence="is not signed in",
            text=text,
            command="codex-mcp login",
            since=since,
        )


def _servers(facts: FleetFacts) -> Iterator[Common]:
    for silent in facts.silent:
        number = sum(each.node == silent.node and each.status == "active" for each in facts.agents)
        its = (
            f"{counted(number, 'agent')} of it {'is' if number == 1 else 'are'} shown as last heard of."
            if number
            else ""
        )
        yield Common(
            key=f"{SERVER}{silent.node}",
            name="A server",
            sentence=f"cannot be reached: {one_line(silent.why)}",
            text=its,
            since=silent.since,
        )


class Limit(Struct, frozen=True):
    """How much of an account's limit is used."""

    name: str
    percent: float


def account_limits(facts: FleetFacts) -> list[Limit]:
    """The fullest of each length: servers of one user have the same account, as far as their limits tell."""
    found: dict[str, Limit] = {}
    for window in (each for server in facts.health for each in server.account.windows):
        limit = Limit(window_name(window), min(100.0, max(0.0, window.used_percent)))
        found[limit.name] = max(found.get(limit.name, limit), limit, key=lambda each: each.percent)
    return list(found.values())


def _cores(facts: FleetFacts) -> Iterator[Common]:
    for server in facts.health:
        core = server.core
        if core.pid is None and core.last_exit and core.last_exit_at is not None:
            yield Common(
                key=f"core/{server.key}",
                name=f"Codex of server process {server.pid}",
                sentence=f"stopped: {one_line(core.last_exit)}",
                text="The turns that ran there ended with it. The next call starts it again.",
                since=core.last_exit_at,
            )


def is_signed_out(facts: FleetFacts) -> bool:
    return any(_says(each, SIGNED_OUT) for each in facts.agents)


def is_of_account(agent: AgentFacts) -> bool:
    """Whether what stops this agent stops all others of the account as well."""
    return _says(agent, SIGNED_OUT) or _says(agent, ACCOUNT_LIMIT)


def _says(agent: AgentFacts, words: str) -> bool:
    is_here = agent.status == "active" and not agent.is_busy
    return is_here and (words in (agent.last_error or "") or words in agent.paused)


def window_name(window: Window) -> str:
    """`5 hours`, `week`."""
    minutes = window.window_minutes
    if not minutes:
        return "window"
    for length, name in PERIODS:
        if minutes % length == 0:
            count = minutes // length
            return name if count == 1 else f"{count} {name}s"
    return f"{minutes} minutes"
