"""Pure. The page Executors: this machine and every environment, how servers have them, and the commands in them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from msgspec import Struct

from codex_mcp.base.printable import counted, one_line, visible
from codex_mcp.dashboard.views.facts import AgentFacts, EnvironmentFacts, FleetFacts
from codex_mcp.dashboard.views.rows import Counts, first_question
from codex_mcp.dashboard.views.wants import typed

RUNNING: Final = "running "
"""How the activity of an agent begins while a command of it runs."""

LOCAL: Final = "local"

LOST: Final = "not reached"
UNUSED: Final = "not in use"


class Place(Struct, frozen=True, kw_only=True):
    """An environment, as one server has it."""

    name: str
    state: str
    glyph: str
    way: str
    why: str
    since: float | None
    server: str
    """Of several; empty if there is one."""
    agents: int
    commands: int


class Command(Struct, frozen=True, kw_only=True):
    text: str
    agent: str
    href: str
    place: str
    since: float
    quiet: bool


class ExecutorsPage(Struct, frozen=True, kw_only=True):
    schema: int = 1
    at: float
    sentence: str
    detail: str
    counts: Counts
    places: Sequence[Place]
    commands: Sequence[Command]


def executors_page(facts: FleetFacts, counts: Counts, now: float, chosen: str = "") -> ExecutorsPage | None:
    """`chosen` is the name of one environment; None: there is none of this name."""
    running = [each for each in facts.agents if _runs_command(each, facts)]
    rows = [each for each in _merged(facts.environments) if chosen in ("", each.name)]
    if chosen and not rows:
        return None
    several = len({each.node for each in facts.environments}) > 1
    places = [_place(each, running, facts, several=several) for each in rows]
    commands = [_command(each, now) for each in running if chosen in ("", each.environment or LOCAL)]
    machines = len({each.place for each in commands})
    lost = [each.name for each in places if each.state == LOST]
    where = "this machine" if {each.place for each in commands} == {LOCAL} else counted(machines, "machine")
    verb = "runs" if len(commands) == 1 else "run"
    return ExecutorsPage(
        at=now,
        sentence=f"{counted(len(commands), 'command')} {verb} on {where}." if commands else "No command runs.",
        detail=", ".join(f"{name} is not reached" for name in dict.fromkeys(lost)),
        counts=counts,
        places=places,
        commands=commands,
    )


def _runs_command(agent: AgentFacts, facts: FleetFacts) -> bool:
    """A command that waits for an answer does not run yet."""
    return agent.is_busy and agent.doing.startswith(RUNNING) and first_question(facts, agent) is None


def _merged(environments: Sequence[EnvironmentFacts]) -> list[EnvironmentFacts]:
    """This machine once, then each environment as each server has it; where nobody uses it, once."""
    local = [each for each in environments if each.name == LOCAL][:1]
    others = [each for each in environments if each.name != LOCAL]
    used = [each for each in others if each.state != UNUSED]
    known = {(each.name, each.url) for each in used}
    unused = {(each.name, each.url): each for each in others if (each.name, each.url) not in known}
    return local + sorted((*used, *unused.values()), key=lambda each: (each.state != LOST, each.name, each.key))


def _place(found: EnvironmentFacts, running: Sequence[AgentFacts], facts: FleetFacts, *, several: bool) -> Place:
    is_local = found.name == LOCAL
    here = [each for each in running if (each.environment or LOCAL) == found.name]
    commands = [each for each in here if is_local or each.node == found.node]
    agents = [each for each in facts.environments if each.name == LOCAL] if is_local else [found]
    server = next((each for each in facts.health if each.key == found.node), None)
    way = "commands run here" if is_local else "relay, encrypted end to end" if found.is_relayed else "WebSocket"
    return Place(
        name=one_line(found.name),
        state=found.state,
        glyph="failed" if found.state == LOST else "off" if found.state == UNUSED else "ok",
        way=way if is_local else f"{way} · {one_line(found.url)}",
        why=visible(found.why),
        since=found.since,
        server="" if is_local or not several or server is None or found.state == UNUSED else f"process {server.pid}",
        agents=sum(each.agents for each in agents),
        commands=len(commands),
    )


def _command(agent: AgentFacts, now: float) -> Command:
    heard = agent.heard
    return Command(
        text=one_line(typed(agent.doing.removeprefix(RUNNING))),
        agent=one_line(agent.identity),
        href=f"/ui/threads/{agent.codex_id}",
        place=agent.environment or LOCAL,
        since=agent.since or agent.used_at,
        quiet=heard is not None and now - heard >= 300.0,
    )
