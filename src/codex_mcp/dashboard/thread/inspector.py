"""Pure. What stands beside a transcript: plan, changed files, tokens, and where the agent works."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from codex_mcp.base.printable import counted, one_line, visible
from codex_mcp.dashboard.thread.steps import Picture, inside
from codex_mcp.dashboard.views.facts import AgentFacts, FleetFacts
from codex_mcp.dashboard.views.rows import Seen, tokens
from codex_mcp.wire.control_thread import FileStep, Finding, Steps

MOST_FILES: Final = 40


class Around(Struct, frozen=True):
    """What a page is made from."""

    facts: FleetFacts
    seen: Seen
    now: float
    known: Steps
    trouble: str = ""
    is_live: bool = False
    pictures: Mapping[str, Picture] = {}
    """Those that can be shown, by their paths."""


class Fact(Struct, frozen=True):
    label: str
    text: str
    is_code: bool = False
    href: str = ""


class PlanView(Struct, frozen=True):
    done: int
    steps: Sequence[tuple[str, str]]
    """Text and state."""


class Meter(Struct, frozen=True):
    percent: int
    of: str


class Inspector(Struct, frozen=True, kw_only=True):
    plan: PlanView | None
    files: Sequence[FileStep]
    meter: Meter | None
    usage: Sequence[Fact]
    where: Sequence[Fact]
    helpers: Sequence[Fact]
    findings: Sequence[Finding]
    review: str
    """How the newest review stands."""


def inspector_of(at: Around, agent: AgentFacts | None, part: Steps, cwd: str) -> Inspector:
    known = at.known
    plan = known.plan.steps
    usage = known.usage
    meter = None
    if usage is not None and usage.window:
        meter = Meter(min(100, round(100 * usage.context / usage.window)), tokens(usage.window))
    review = known.reviews[-1] if known.reviews else None
    findings = [] if review is None else [_finding(each, cwd) for each in review.findings]
    return Inspector(
        plan=PlanView(sum(each.status == "completed" for each in plan), [(one_line(p.step), p.status) for p in plan])
        if plan
        else None,
        files=_files(part, cwd),
        meter=meter,
        usage=list(_usage(known, agent)),
        where=list(_where(at, agent)),
        helpers=[
            Fact(one_line(each.name), f"{one_line(each.state)}, {tokens(each.tokens) or '0'} tokens")
            for each in known.helpers
        ],
        findings=findings,
        review="" if review is None else _review(review.status, len(findings)),
    )


def _review(status: str, findings: int) -> str:
    if status == "running":
        return "A review runs."
    return f"Review: {counted(findings, 'finding')}" if status == "completed" else f"The review {one_line(status)}."


def _finding(finding: Finding, cwd: str) -> Finding:
    return replace(
        finding, title=one_line(finding.title), body=visible(finding.body), file=one_line(inside(finding.file, cwd))
    )


def _files(part: Steps, cwd: str) -> list[FileStep]:
    """Of the patches that are shown, each file once."""
    found: dict[str, FileStep] = {}
    for step in part.steps:
        if not step.ended or step.status not in ("completed", ""):
            continue
        for each in step.files:
            before = found.get(each.path)
            added = each.added + (before.added if before is not None else 0)
            removed = each.removed + (before.removed if before is not None else 0)
            found[each.path] = replace(each, path=one_line(inside(each.path, cwd)), added=added, removed=removed)
    return list(found.values())[:MOST_FILES]


def _usage(known: Steps, agent: AgentFacts | None) -> Iterator[Fact]:
    total = agent.tokens if agent is not None else known.usage.total if known.usage is not None else 0
    cost = f" ≈ {agent.cost:.2f}" if agent is not None and agent.cost else ""
    if total:
        yield Fact("This thread", f"{tokens(total)} tokens{cost}")
    if known.usage is not None and known.usage.input:
        yield Fact("Cached", f"{round(100 * known.usage.cached / known.usage.input)} %")
    if known.turn_usage is not None:
        yield Fact("This turn", f"{tokens(known.turn_usage.input) or 0} in, {tokens(known.turn_usage.output) or 0} out")
    for limit in known.setup.limits:
        number, _, name = limit.partition(" ")
        yield Fact("Limit", f"{tokens(int(number))} {name}" if number.isdecimal() else one_line(limit))


def _where(at: Around, agent: AgentFacts | None) -> Iterator[Fact]:
    known = at.known
    environment = known.setup.environment or (agent.environment if agent is not None else "")
    yield Fact("Runs on", one_line(environment) or "this machine")
    if agent is not None:
        yield Fact("Folder", one_line(agent.cwd), is_code=True)
        if agent.worktree:
            yield Fact("Worktree", "its own")
        sharing = [each for each in at.facts.agents if each.cwd == agent.cwd and each.status == "active"]
        others = [one_line(each.identity) for each in sharing if each.codex_id != agent.codex_id]
        if others and not agent.worktree:
            yield Fact("Shares it with", ", ".join(others[:3]) + (" …" if len(others) > 3 else ""))
        if agent.owner is not None and agent.owner.pid:
            yield Fact("Server", f"process {agent.owner.pid}")
        if agent.principal != "local":
            yield Fact("Of", one_line(agent.principal))
        if agent.mail:
            yield Fact("Mail", counted(agent.mail, "unread message"))
    if known.setup.copy_of:
        source = next((each for each in at.facts.agents if each.thread_id == known.setup.copy_of), None)
        yield Fact("Copy of", one_line(source.identity if source is not None else known.setup.copy_of))
    if known.goal:
        yield Fact("Goal", one_line(known.goal))
    if known.thread:
        yield Fact("Thread", one_line(known.thread), is_code=True)
