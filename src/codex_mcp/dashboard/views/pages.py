"""Pure. The pages: one function each, whose result is what the template shows and what the JSON twin says."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct

from codex_mcp.base.printable import one_line, visible
from codex_mcp.control.asked import Asked
from codex_mcp.dashboard.views.attention import Glyph, Group
from codex_mcp.dashboard.views.briefs import Before
from codex_mcp.dashboard.views.cards import Card, card_of, href_of, name_of
from codex_mcp.dashboard.views.facts import AgentFacts, FleetFacts, Silent
from codex_mcp.dashboard.views.rows import (
    DENSE,
    Counts,
    Looked,
    Section,
    Seen,
    attention_counts,
    detail,
    is_of,
    looked_at,
    sections,
    sentence,
    without_agent,
)
from codex_mcp.dashboard.views.troubles import Common, Limit, account_limits, common_troubles
from codex_mcp.dashboard.views.wants import want_of

SCHEMA = 1
"""Of the JSON twins: fields are only added to it."""

MOST_ANSWERED = 20


class FleetPage(Struct, frozen=True, kw_only=True):
    schema: int = SCHEMA
    at: float
    sentence: str
    detail: str
    counts: Counts
    show: str
    q: str
    sections: Sequence[Section]
    troubles: Sequence[Item]
    """What concerns several agents."""
    others: Sequence[Item]
    """Questions of threads that are no agent's."""
    limits: Sequence[Limit]
    is_dense: bool
    is_empty: bool
    servers: int
    silent: Sequence[Silent]


class Item(Struct, frozen=True, kw_only=True):
    """A line of the queue."""

    key: str
    href: str
    glyph: Glyph | str
    name: str
    text: str
    is_code: bool = False
    since: float
    is_current: bool = False


class Trouble(Struct, frozen=True, kw_only=True):
    """An agent that needs a person for another reason than a question."""

    key: str
    codex_id: str
    name: str
    task: str
    sentence: str
    text: str
    """All that is known, such as the whole error."""
    since: float
    can_be_seen: bool
    """It is a failure, which stays here until somebody says that they have seen it."""
    command: str = ""
    """What to run in a terminal."""


class NeedsPage(Struct, frozen=True, kw_only=True):
    schema: int = SCHEMA
    at: float
    sentence: str
    detail: str
    counts: Counts
    items: Sequence[Item]
    answered: Sequence[Item]
    card: Card | None
    before: Before | None = None
    """What the agent of the card did before it asked."""
    trouble: Trouble | None
    next: str
    """The link to what needs a person next; empty if nothing does."""
    silent: Sequence[Silent]


def fleet_page(facts: FleetFacts, seen: Seen, now: float, *, show: str = "", q: str = "") -> FleetPage:
    looked = looked_at(facts, seen, now)
    others = without_agent(facts, now)
    counts = attention_counts(facts, seen, now)
    troubles = [_common_item(each, "") for each in common_troubles(facts)]
    is_empty = not looked and not others and not troubles
    return FleetPage(
        at=now,
        sentence="No agents yet." if is_empty else _sentence(facts, counts),
        detail=detail(counts, facts, now),
        counts=counts,
        show=show if show in set(Group) else "",
        q=one_line(q),
        sections=sections(looked, facts, show if show in set(Group) else "", q),
        troubles=troubles,
        others=[_asked_item(each, "") for each in others],
        limits=account_limits(facts),
        is_dense=counts.all > DENSE,
        is_empty=is_empty,
        servers=facts.servers,
        silent=facts.silent,
    )


def needs_page(facts: FleetFacts, seen: Seen, now: float, *, chosen: str = "", shown: Asked | None = None) -> NeedsPage:
    """`chosen` is the key of what is to be shown in full, `shown` a question that is not among the open ones."""
    looked = looked_at(facts, seen, now)
    others = without_agent(facts, now)
    counts = attention_counts(facts, seen, now)
    need = [each for each in looked if each.attention.group is Group.NEED]
    items = queue(facts, need, others, "")
    current = chosen or (items[0].key if items else "")
    known = (*facts.asked, *facts.answered)
    asked = next((each for each in known if each.question.id == current), shown)
    trouble = next((_trouble(each) for each in need if f"agent/{each.agent.codex_id}" == current), None)
    trouble = next((_common(each) for each in common_troubles(facts) if each.key == current), trouble)
    after = [each.key for each in items if each.key != current]
    return NeedsPage(
        at=now,
        sentence=_sentence(facts, counts),
        detail=detail(counts, facts, now),
        counts=counts,
        items=queue(facts, need, others, current),
        answered=[_answered_item(each, current) for each in facts.answered[:MOST_ANSWERED]],
        card=None if asked is None else card_of(asked, _agent_of(facts, asked), facts.silent_node(asked.node)),
        trouble=trouble,
        next=href_of(after[0]) if after else "",
        silent=facts.silent,
    )


def _sentence(facts: FleetFacts, counts: Counts) -> str:
    return sentence(counts.need, len(list(common_troubles(facts))))


def queue(facts: FleetFacts, need: Sequence[Looked], others: Sequence[Asked], current: str) -> list[Item]:
    """What concerns several agents, questions, the soonest deadline first, then failures, then the rest."""
    needing = [each.agent for each in need]
    asked = [each for each in facts.asked if any(is_of(each, agent) for agent in needing)] + list(others)
    asked.sort(key=lambda each: (each.question.deadline or float("inf"), each.question.asked_at, each.question.id))
    rest = [each for each in need if not any(is_of(question, each.agent) for question in asked)]
    rest.sort(key=lambda each: (each.attention.glyph is not Glyph.FAILED, each.agent.used_at, each.agent.codex_id))
    first = [_common_item(each, current) for each in common_troubles(facts)]
    return first + [_asked_item(each, current) for each in asked] + [_trouble_item(each, current) for each in rest]


def _agent_of(facts: FleetFacts, asked: Asked) -> AgentFacts | None:
    return next((agent for agent in facts.agents if is_of(asked, agent)), None)


def _asked_item(asked: Asked, current: str) -> Item:
    question, want = asked.question, want_of(asked.question)
    text = want.about if want.is_code else " ".join((want.short, want.about)).strip()
    return Item(
        key=question.id,
        href=href_of(question.id),
        glyph=Glyph.NEED,
        name=name_of(question),
        text=text,
        is_code=want.is_code,
        since=question.asked_at,
        is_current=question.id == current,
    )


def _common_item(common: Common, current: str) -> Item:
    return Item(
        key=common.key,
        href=href_of(common.key),
        glyph=Glyph.FAILED,
        name=common.name,
        text=". ".join(filter(None, (common.sentence, common.text))),
        since=common.since,
        is_current=common.key == current,
    )


def _common(common: Common) -> Trouble:
    return Trouble(
        key=common.key,
        codex_id="",
        name=common.name,
        task="",
        sentence=common.sentence,
        text=common.text,
        since=common.since,
        can_be_seen=False,
        command=common.command,
    )


def _trouble_item(looked: Looked, current: str) -> Item:
    key, found = f"agent/{looked.agent.codex_id}", looked.attention
    return Item(
        key=key,
        href=href_of(key),
        glyph=found.glyph,
        name=one_line(looked.agent.identity),
        text=" ".join((found.sentence, found.about)).strip(),
        since=looked.agent.used_at,
        is_current=key == current,
    )


def _answered_item(asked: Asked, current: str) -> Item:
    question, receipt = asked.question, asked.question.receipt
    assert receipt is not None
    by = f" by {one_line(receipt.by)}" if receipt.by else ""
    about = want_of(question).about
    card = card_of(asked)
    is_approval = card.receipt is not None and card.receipt.is_approval
    return Item(
        key=question.id,
        href=href_of(question.id),
        glyph="ok" if is_approval else "no" if receipt.state == "decided" else "off",
        name=name_of(question),
        text=f"{one_line(receipt.decision)}{by}" + (f": {about}" if about else ""),
        since=receipt.at,
        is_current=question.id == current,
    )


def _trouble(looked: Looked) -> Trouble:
    agent, found = looked.agent, looked.attention
    is_failure = found.glyph is Glyph.FAILED
    return Trouble(
        key=f"agent/{agent.codex_id}",
        codex_id=agent.codex_id,
        name=one_line(agent.identity),
        task=agent.title,
        sentence="stopped" if is_failure else found.sentence,
        text=visible(agent.last_error or "") if is_failure else "",
        since=agent.used_at,
        can_be_seen=is_failure,
    )
