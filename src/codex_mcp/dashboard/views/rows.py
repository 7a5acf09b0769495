"""Pure. The fleet as rows in groups, and the sentence above them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from codex_mcp.base.printable import age, counted, one_line
from codex_mcp.control.asked import Asked
from codex_mcp.dashboard.views.attention import Attention, Glyph, Group, attention, counts
from codex_mcp.dashboard.views.cards import href_of
from codex_mcp.dashboard.views.facts import AgentFacts, FleetFacts
from codex_mcp.dashboard.views.troubles import ACCOUNT, common_troubles, is_of_account

DENSE: Final = 20
"""Agents above which a row is one line."""

MOST_OFF: Final = 50
"""Inactive agents that are shown, the newest first; `codex-mcp threads --all` lists all."""

TITLES: Final[Mapping[Group, str]] = {
    Group.NEED: "Needs you",
    Group.WORK: "Working",
    Group.READY: "Ready",
    Group.OFF: "Inactive",
}

Seen = Callable[[AgentFacts], bool]
"""Whether the person has looked at the failure of an agent."""


class Row(Struct, frozen=True, kw_only=True):
    key: str
    name: str
    href: str
    about_agent: str
    """Its role or tag."""
    task: str
    group: Group
    glyph: Glyph
    sentence: str
    about: str
    is_code: bool
    icon: str
    chip: str
    branch: str
    folder: str
    server: str
    """Of several; empty if there is one."""
    principal: str
    is_live: bool
    added: int
    removed: int
    mail: int
    tokens: str
    context: int | None
    environment: str
    since: float


class Section(Struct, frozen=True):
    group: Group
    title: str
    rows: Sequence[Row]


class Counts(Struct, frozen=True):
    need: int = 0
    work: int = 0
    ready: int = 0
    off: int = 0

    @property
    def all(self) -> int:
        return self.need + self.work + self.ready + self.off


class Looked(Struct, frozen=True):
    """An agent with what it needs or does."""

    agent: AgentFacts
    asked: Asked | None
    attention: Attention


def looked_at(facts: FleetFacts, seen: Seen, now: float) -> list[Looked]:
    """All agents; of several with a question, one that waits longer comes first."""
    found = []
    is_shared = any(each.key.startswith(ACCOUNT) for each in common_troubles(facts))
    for agent in facts.agents:
        asked = first_question(facts, agent)
        shared = is_shared and is_of_account(agent)  # told once, and not for each agent
        judged = replace(agent, paused="") if shared else agent
        found.append(Looked(agent, asked, attention(judged, asked, now, seen=shared or seen(agent))))
    return found


def attention_counts(facts: FleetFacts, seen: Seen, now: float) -> Counts:
    """The numbers that every page has."""
    others = len(without_agent(facts, now)) + len(list(common_troubles(facts)))
    return count(looked_at(facts, seen, now), others)


def first_question(facts: FleetFacts, agent: AgentFacts) -> Asked | None:
    return next((each for each in facts.asked if is_of(each, agent)), None)


def is_of(asked: Asked, agent: AgentFacts) -> bool:
    question = asked.question
    if question.thread and question.thread == agent.thread_id:
        return True
    return bool(question.agent) and question.agent == agent.identity and asked.node == agent.node


def without_agent(facts: FleetFacts, now: float) -> list[Asked]:
    """Open questions of threads that are no agent's: reviews, named sessions."""
    return [each for each in facts.asked if counts(each, now) and not any(is_of(each, agent) for agent in facts.agents)]


def count(looked: Iterable[Looked], others: int = 0) -> Counts:
    groups = [each.attention.group for each in looked]
    need, work, ready, off = (groups.count(group) for group in Group)
    return Counts(need + others, work, ready, off)


def sentence(need: int, things: int = 0) -> str:
    """`things` of them are no agents: a server, an account."""
    if not need:
        return "Nobody needs you."
    agents, more = need - things, "more " if need > things else ""
    words = [counted(agents, "agent")] if agents else []
    words += [counted(things, f"{more}thing")] if things else []
    return f"{' and '.join(words)} {'needs' if need == 1 else 'need'} you."


def detail(counts_: Counts, facts: FleetFacts, now: float) -> str:
    said = f"{counts_.work} working, {counts_.ready} ready"
    waiting = [now - each.question.asked_at for each in facts.asked if counts(each, now)]
    return f"{said}; the oldest question is {age(max(waiting))} old" if waiting else said


def sections(looked: Sequence[Looked], facts: FleetFacts, show: str, wanted: str) -> list[Section]:
    """The groups with the rows that are to be shown, in the order in which agents were started."""
    several = len({each.agent.node for each in looked if each.agent.node}) > 1
    people = len({each.agent.principal for each in looked}) > 1
    found = []
    for group in Group:
        rows = [row_of(each, facts, several=several, people=people) for each in looked if each.attention.group is group]
        rows = [row for row in rows if show in ("", str(group)) and matches(row, wanted)]
        if group is Group.OFF:
            rows = sorted(rows, key=lambda row: (-row.since, row.key))[:MOST_OFF]
        if rows:
            found.append(Section(group, TITLES[group], rows))
    return found


def matches(row: Row, wanted: str) -> bool:
    text = " ".join((row.name, row.about_agent, row.task, row.sentence, row.about, row.branch, row.folder)).casefold()
    return all(word in text for word in wanted.casefold().split())


def row_of(looked: Looked, facts: FleetFacts, *, several: bool, people: bool) -> Row:
    agent, asked, found = looked.agent, looked.asked, looked.attention
    silent = facts.silent_node(agent.node)
    return Row(
        key=agent.codex_id.removeprefix("codex:"),
        name=one_line(agent.identity),
        href=_href(agent, asked, found),
        about_agent=one_line(agent.role or agent.tag or ""),
        task=agent.title,
        group=found.group,
        glyph=found.glyph,
        sentence=found.sentence,
        about=found.about,
        is_code=found.is_code,
        icon=found.icon,
        chip=found.chip,
        branch=one_line(agent.branch or ""),
        folder=one_line(agent.repo_name or agent.cwd.rstrip("/").rpartition("/")[2]),
        server=f"process {agent.owner.pid}" if several and agent.owner is not None else "",
        principal=one_line(agent.principal) if people else "",
        is_live=silent is None or agent.status != "active",
        added=agent.added,
        removed=agent.removed,
        mail=agent.mail,
        tokens=tokens(agent.tokens),
        context=agent.context,
        environment=one_line(agent.environment),
        since=asked.question.asked_at if asked is not None else agent.since or agent.used_at,
    )


def _href(agent: AgentFacts, asked: Asked | None, found: Attention) -> str:
    if found.group is not Group.NEED:
        return f"/ui/threads/{agent.codex_id}"
    return href_of(asked.question.id) if asked is not None else href_of(f"agent/{agent.codex_id}")


def tokens(number: int) -> str:
    """`950`, `12 k`, `1.24 M`."""
    if number < 1000:
        return str(number) if number else ""
    return f"{number / 1000:.0f} k" if number < 999_500 else f"{number / 1_000_000:.2f} M"
