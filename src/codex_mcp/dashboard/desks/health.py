"""Pure. The page Health: what is wrong first, each line with what to do; what was used; the end of the audit."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from msgspec import Struct

from codex_mcp.base.printable import counted, one_line, visible
from codex_mcp.base.timestamps import parse_timestamp
from codex_mcp.dashboard.desks.audit import GOOD, Line, line_of
from codex_mcp.dashboard.views.facts import AccountFacts, Browser, FleetFacts, ServerFacts, Window
from codex_mcp.dashboard.views.rows import Counts, tokens
from codex_mcp.dashboard.views.troubles import is_signed_out, window_name
from codex_mcp.team.records.audit_entry import AuditEntry

BAD: Final = "bad"
WARN: Final = "warn"
OK: Final = "ok"

NEAR: Final = 80
"""Percent of a rate limit from which on it is worth a look."""

MINUTES: Final = 60
"""Of the sparklines."""

WIDTH: Final = 240
HEIGHT: Final = 48
"""Of a sparkline, in its own units."""

TAIL: Final = 8
MOST_SPENDERS: Final = 8


class Check(Struct, frozen=True):
    """A line, as of `codex-mcp doctor`."""

    level: str
    name: str
    text: str
    hint: str = ""
    """What to do, or more about it."""


class Meter(Struct, frozen=True):
    """A bar; `percent` of it is full."""

    name: str
    percent: float
    text: str
    is_near: bool = False


class Spark(Struct, frozen=True):
    """A small chart of the last hour."""

    title: str
    value: str
    line: str
    """The points of an SVG polyline; empty if nothing happened."""
    area: str


class HealthPage(Struct, frozen=True, kw_only=True):
    schema: int = 1
    at: float
    sentence: str
    detail: str
    counts: Counts
    checks: Sequence[Check]
    sparks: Sequence[Spark]
    limits: Sequence[Meter]
    spent: Sequence[Meter]
    tail: Sequence[Line]
    browsers: Sequence[Browser]


def health_page(facts: FleetFacts, counts: Counts, now: float, browsers: Sequence[Browser] = ()) -> HealthPage:
    checks = sorted(_checks(facts, now), key=lambda each: (BAD, WARN, OK).index(each.level))
    bad, warn = (sum(each.level == level for each in checks) for level in (BAD, WARN))
    return HealthPage(
        at=now,
        sentence=_sentence(bad, warn),
        detail="" if not (bad or warn) else "everything else is well",
        counts=counts,
        checks=checks,
        sparks=list(_sparks(facts, now)),
        limits=[_limit(each, server, now) for server in _accounts(facts) for each in server.account.windows],
        spent=_spent(facts),
        tail=[line_of(each) for each in facts.audit if _is_news(each)][:TAIL],
        browsers=browsers,
    )


def _is_news(entry: AuditEntry) -> bool:
    """Calls that have only read something are left out: an open page makes many."""
    return bool(entry.identity or entry.codex_id or entry.by) or entry.outcome not in GOOD


def _sentence(bad: int, warn: int) -> str:
    if not bad and not warn:
        return "Everything is well."
    wrong = f"{counted(bad, 'thing')} {'is' if bad == 1 else 'are'} wrong" if bad else ""
    watch = f"{counted(warn, 'thing')} to watch" if warn else ""
    return f"{', '.join(filter(None, (wrong, watch)))}."


def _checks(facts: FleetFacts, now: float) -> Iterator[Check]:
    for silent in facts.silent:
        yield Check(BAD, "Server", one_line(silent.why), "nothing can be answered there from here meanwhile")
    if not facts.servers:
        yield Check(OK, "Servers", "none runs", "a client starts one, or codex-mcp serve")
    for server in facts.health:
        yield from _of_server(server, several=len(facts.health) > 1)
    if len({server.version for server in facts.health}) > 1:
        versions = ", ".join(sorted({one_line(server.version) for server in facts.health}))
        yield Check(WARN, "Versions", f"servers of several versions run: {versions}", "restart the older ones")
    for server in _accounts(facts):
        yield from _of_account(server.account, now)
    if is_signed_out(facts):
        yield Check(BAD, "Sign-in", "Codex is not signed in", "codex-mcp login")
    yield from _of_environments(facts)
    yield _of_mail(facts)


def _of_server(server: ServerFacts, *, several: bool) -> Iterator[Check]:
    name = f"Server process {server.pid}"
    if server.lease != "holding" or server.trouble:
        said = one_line(server.trouble) or f"its lease on the store is {one_line(server.lease)}"
        yield Check(BAD, name, said, "it begins nothing new meanwhile; look at the disk of its state folder")
    else:
        memory = f" · {server.megabytes} MB" if server.megabytes is not None else ""
        said = f"codex-mcp {one_line(server.version)}, team {one_line(server.team)}, {counted(server.agents, 'agent')}"
        yield Check(OK, name, f"{said}, {server.busy} busy", f"holds its lease{memory}")
    core = server.core
    of = f" of process {server.pid}" if several else ""
    if core.pid is not None:
        starts = f", started {core.starts} times" if core.starts > 1 else ""
        last = f"the one before ended with {one_line(core.last_exit)}" if core.last_exit else ""
        yield Check(WARN if last else OK, f"Codex{of}", f"{one_line(core.version)}, process {core.pid}{starts}", last)
    elif core.last_exit:
        yield Check(BAD, f"Codex{of}", f"stopped: {one_line(core.last_exit)}", "the next call starts it again")
    else:
        yield Check(OK, f"Codex{of}", "not started yet", "the first call starts it")


def _accounts(facts: FleetFacts) -> list[ServerFacts]:
    """Each account once: servers of one user have the same, as far as their limits tell."""
    found: dict[str, ServerFacts] = {}
    for server in facts.health:
        if server.account.windows or server.account.is_limited:
            found.setdefault(repr(server.account), server)
    return list(found.values())


def _of_account(account: AccountFacts, now: float) -> Iterator[Check]:
    if account.is_limited:
        yield Check(BAD, "Account", "it has reached its usage limit", _until(account.paused_until, now))
    for window in account.windows:
        if window.used_percent >= NEAR and not account.is_limited:
            used = f"{window.used_percent:.0f} % of the limit per {window_name(window)} used"
            yield Check(WARN, "Account", used, _until(window.resets_at, now))


def _until(end: float | None, now: float) -> str:
    if end is None or end <= now:
        return "when it ends is not known" if end is None else ""
    minutes = max(1, round((end - now) / 60))
    return f"it is reset in {minutes} min" if minutes < 120 else f"it is reset in {round(minutes / 60)} h"


def _of_environments(facts: FleetFacts) -> Iterator[Check]:
    for each in facts.environments:
        if each.state == "not reached":
            yield Check(BAD, f"Executor {one_line(each.name)}", visible(each.why), "start codex-mcp exec-server there")


def _of_mail(facts: FleetFacts) -> Check:
    held = sum(each.held_mail for each in facts.agents)
    waiting = sum(bool(each.why) for each in facts.letters)
    counted_ = [_number(server.mail.get(name)) for server in facts.health for name in ("read", "redelivered", "failed")]
    read, again, failed = (sum(counted_[at::3]) for at in range(3))
    told = f"{counted(read, 'message')} delivered since the servers began, {waiting} waiting"
    if held:
        return Check(WARN, "Mail", f"{counted(held, 'message')} held back by the loop protection", told)
    return Check(OK, "Mail", told, f"{again} delivered again, {failed} failed" if again or failed else "")


def _number(value: object) -> int:
    return value if isinstance(value, int) else 0


def _limit(window: Window, server: ServerFacts, now: float) -> Meter:
    percent = min(100.0, max(0.0, window.used_percent))
    return Meter(f"per {window_name(window)}", percent, _until(window.resets_at, now), percent >= NEAR)


def _sparks(facts: FleetFacts, now: float) -> Iterator[Spark]:
    used, turns = [0] * MINUTES, [0] * MINUTES
    for entry in facts.audit:
        try:
            ago = int((now - parse_timestamp(entry.timestamp)) // 60)
        except ValueError:
            continue
        if 0 <= ago < MINUTES and entry.tokens:
            used[MINUTES - 1 - ago] += entry.tokens
            turns[MINUTES - 1 - ago] += 1
    yield Spark("Tokens, last hour", tokens(sum(used)) or "0", *_drawn(used))
    yield Spark("Turns, last hour", str(sum(turns)), *_drawn(turns))


def _drawn(values: Sequence[int]) -> tuple[str, str]:
    most = max(values)
    if not most:
        return "", ""
    step = WIDTH / (len(values) - 1)
    points = [f"{at * step:.0f},{HEIGHT - 2 - value / most * (HEIGHT - 6):.0f}" for at, value in enumerate(values)]
    return " ".join(points), " ".join([f"0,{HEIGHT}", *points, f"{WIDTH},{HEIGHT}"])


def _spent(facts: FleetFacts) -> list[Meter]:
    """Tokens and cost by agent, the largest first."""
    agents = sorted((each for each in facts.agents if each.tokens), key=lambda each: -each.tokens)
    rows = [(one_line(each.identity), each.tokens, each.cost) for each in agents[:MOST_SPENDERS]]
    if others := agents[MOST_SPENDERS:]:
        name = counted(len(others), "other")
        rows.append((name, sum(each.tokens for each in others), sum(each.cost for each in others)))
    most = max((number for _, number, _ in rows), default=1)
    return [Meter(name, 100 * number / most, _with_cost(number, cost)) for name, number, cost in rows]


def _with_cost(number: int, cost: float) -> str:
    return f"{tokens(number)} · {cost:.2f}" if cost else tokens(number)
