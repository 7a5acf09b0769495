"""Pure. The page of one thread: what the template shows, and what the JSON twin says."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from msgspec import Struct

from codex_mcp.base.printable import one_line, visible
from codex_mcp.control.asked import Asked
from codex_mcp.dashboard.thread.inspector import Around, Inspector, inspector_of
from codex_mcp.dashboard.thread.steps import StepView, key_of, views, with_pictures
from codex_mcp.dashboard.thread.transcript import is_running
from codex_mcp.dashboard.views.attention import Group
from codex_mcp.dashboard.views.briefs import Before
from codex_mcp.dashboard.views.cards import Card, card_of
from codex_mcp.dashboard.views.facts import AgentFacts, FleetFacts, Silent
from codex_mcp.dashboard.views.pages import SCHEMA
from codex_mcp.dashboard.views.rows import (
    TITLES,
    Counts,
    Looked,
    attention_counts,
    first_question,
    looked_at,
)
from codex_mcp.wire.control_thread import Steps, TurnRow

MOST_TURNS: Final = 100
"""That the page lists."""

JUST_ANSWERED: Final = 60.0
"""Seconds for which an answer to a question stays on the page."""

MOST_OFF: Final = 20

RUNNING: Final = "inProgress"

GLYPHS: Final[Mapping[str, str]] = {RUNNING: "work", "completed": "ok", "failed": "failed", "interrupted": "off"}

BY: Final[Mapping[str, str]] = {"codex": "Codex began this", "mail": "mail"}


class RosterItem(Struct, frozen=True):
    name: str
    href: str
    glyph: str
    since: float
    is_current: bool = False


class RosterGroup(Struct, frozen=True):
    title: str
    items: Sequence[RosterItem]


class TurnView(Struct, frozen=True, kw_only=True, omit_defaults=True):
    id: str
    key: str
    number: int
    asked: str
    by: str = ""
    steps: int = 0
    seconds: float | None = None
    started_at: float | None = None
    glyph: str = ""
    state: str = ""
    href: str = ""
    error: str = ""
    is_open: bool = False
    """Its steps are shown."""


class Actions(Struct, frozen=True, kw_only=True):
    """What can be done with it now."""

    say: bool = False
    steer: bool = False
    interrupt: bool = False
    close: bool = False
    resume: bool = False
    review: bool = False
    why_not: str = ""
    """Why nothing can be said."""


class Waits(Struct, frozen=True):
    prompt: str
    by: str


class ThreadPage(Struct, frozen=True, kw_only=True):
    schema: int = SCHEMA
    at: float
    sentence: str
    counts: Counts
    ref: str
    """What its addresses name."""
    codex_id: str
    name: str
    task: str
    glyph: str
    status: str
    """What it does or needs."""
    status_code: str
    since: float
    chips: Sequence[str]
    branch: str
    roster: Sequence[RosterGroup]
    turns: Sequence[TurnView]
    earlier_turns: bool
    steps: Sequence[StepView]
    turn: str
    """Whose steps they are."""
    first: int
    total: int
    last_turn: str
    is_running: bool
    actions: Actions
    queue: Sequence[Waits]
    inspector: Inspector
    trouble: str
    silent: str
    is_live: bool
    card: Card | None
    before: Before | None = None
    """For the card, as on Needs you; here the steps are the transcript's."""
    next: str = ""

    @property
    def earlier(self) -> int:
        """Steps of the turn before those that are shown."""
        return self.first


def thread_page(at: Around, agent: AgentFacts | None, shown: Steps | None = None) -> ThreadPage:
    """`shown` are other steps than the newest ones."""
    known, facts, now = at.known, at.facts, at.now
    part = shown or known
    looked = looked_at(facts, at.seen, now)
    about = _about(known, agent, looked)
    silent = facts.silent_node(agent.node) if agent is not None and agent.status == "active" else None
    asked = _asked(facts, agent, known.thread, now)
    cwd = agent.cwd if agent is not None else ""
    return ThreadPage(
        at=now,
        sentence=" ".join(filter(None, (about.name, about.status, about.text))),
        counts=attention_counts(facts, at.seen, now),
        ref=about.ref,
        codex_id=agent.codex_id if agent is not None else "",
        name=about.name,
        task=agent.title if agent is not None else "",
        glyph=about.glyph,
        status=about.status or "runs",
        status_code=about.text if about.is_code else "",
        since=(agent.since or agent.used_at) if agent is not None else now,
        chips=list(_chips(known, agent, about.chip)),
        branch=one_line(agent.branch or "") if agent is not None else "",
        roster=_roster(looked, agent),
        turns=_turns(known, part.turn, about.ref),
        earlier_turns=known.is_cut or len(known.turns) > MOST_TURNS,
        steps=[with_pictures(each, at.pictures) for each in views(part.steps, cwd)],
        turn=part.turn,
        first=part.first,
        total=part.total,
        last_turn=known.turns[-1].id if known.turns else "",
        is_running=is_running(known),
        actions=_actions(at, agent, silent),
        queue=[Waits(one_line(each.prompt), each.by) for each in known.queue],
        inspector=inspector_of(at, agent, part, cwd),
        trouble=at.trouble,
        silent="" if silent is None else silent.why,
        is_live=at.is_live,
        card=None if asked is None else card_of(asked, agent, facts.silent_node(asked.node)),
    )


class _About(Struct, frozen=True):
    ref: str
    name: str
    glyph: str
    status: str
    text: str = ""
    is_code: bool = False
    chip: str = ""


def _about(known: Steps, agent: AgentFacts | None, looked: Sequence[Looked]) -> _About:
    mine = next((each for each in looked if agent is not None and each.agent.codex_id == agent.codex_id), None)
    if agent is None or mine is None:
        glyph, status = ("work", "runs") if is_running(known) else ("off", "is no agent's")
        name = f"thread {one_line(known.thread)}" if agent is None else one_line(agent.identity)
        return _About(known.thread if agent is None else agent.codex_id, name, glyph, status)
    found = mine.attention
    status = found.sentence if found.is_code or not found.about else f"{found.sentence} {found.about}".strip()
    return _About(
        agent.codex_id,
        one_line(agent.identity),
        str(found.glyph),
        status,
        found.about if found.is_code else "",
        found.is_code,
        found.chip,
    )


def _asked(facts: FleetFacts, agent: AgentFacts | None, thread: str, now: float) -> Asked | None:
    """What it asks, or what has just been answered."""
    if agent is not None and (asked := first_question(facts, agent)) is not None:
        return asked
    threads = {thread, agent.thread_id or "" if agent is not None else ""} - {""}
    known = (*facts.asked, *facts.answered)
    mine = [each for each in known if each.question.thread in threads]
    return next((each for each in mine if _is_fresh(each, now)), None)


def _is_fresh(asked: Asked, now: float) -> bool:
    receipt = asked.question.receipt
    return receipt is None or now - receipt.at < JUST_ANSWERED


def _chips(known: Steps, agent: AgentFacts | None, chip: str) -> Iterator[str]:
    setup = known.setup
    if setup.model:
        yield one_line(f"{setup.model} {setup.effort}".strip())
    yield from (one_line(each) for each in (setup.sandbox, setup.approval, chip) if each)
    if agent is not None and agent.paused:
        yield f"paused: {one_line(agent.paused)}"


def _roster(looked: Sequence[Looked], agent: AgentFacts | None) -> list[RosterGroup]:
    found = []
    for group in Group:
        members = [each for each in looked if each.attention.group is group]
        if group is Group.OFF:
            members = sorted(members, key=lambda each: -each.agent.used_at)[:MOST_OFF]
        items = [
            RosterItem(
                one_line(each.agent.identity),
                href_of_thread(each.agent.codex_id),
                str(each.attention.glyph),
                each.asked.question.asked_at if each.asked is not None else each.agent.since or each.agent.used_at,
                agent is not None and each.agent.codex_id == agent.codex_id,
            )
            for each in members
        ]
        if items:
            found.append(RosterGroup(TITLES[group], items))
    return found


def href_of_thread(ref: str) -> str:
    return f"/ui/threads/{ref}"


def _turns(known: Steps, shown: str, ref: str) -> list[TurnView]:
    before = max(0, len(known.turns) - MOST_TURNS)
    return [_turn(each, number, shown, ref) for number, each in enumerate(known.turns[before:], before + 1)]


def _turn(row: TurnRow, number: int, shown: str, ref: str) -> TurnView:
    asked = one_line(" ".join(row.asked.split()))
    by = BY.get(row.by, "")
    if asked.startswith("You have mail: "):
        by, asked = "mail", asked.removeprefix("You have ").partition(". It is quoted")[0]
    states = {RUNNING: "running", "failed": "failed", "interrupted": "stopped"}
    return TurnView(
        id=row.id,
        key=key_of(row.id),
        number=number,
        asked=asked,
        by=by,
        steps=row.steps,
        seconds=row.seconds,
        started_at=row.started_at,
        glyph=GLYPHS.get(row.status, "off"),
        state=states.get(row.status, ""),
        href=f"{href_of_thread(ref)}?turn={row.id}" if row.id.replace("-", "").isalnum() else "",
        error=visible(row.error),
        is_open=row.id == shown,
    )


def _actions(at: Around, agent: AgentFacts | None, silent: Silent | None) -> Actions:
    if agent is None:
        return Actions(why_not="This thread is no agent's: it can only be read here.")
    if silent is not None:
        return Actions(why_not=f"{one_line(silent.why)}; nothing can be sent.")
    if not at.facts.servers:
        return Actions(why_not="No server runs. Start one, for instance with your client, to go on with this agent.")
    if agent.status in ("closed", "interrupted"):
        return Actions(resume=True, why_not="It is closed.")
    busy = agent.is_busy
    return Actions(say=True, steer=busy, interrupt=busy, close=agent.status == "active", review=True)
