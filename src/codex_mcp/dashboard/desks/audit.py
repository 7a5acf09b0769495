"""Pure. The page Audit, and the newest lines of it for Health."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final
from urllib.parse import urlencode

from msgspec import Struct

from codex_mcp.base.printable import counted, one_line
from codex_mcp.base.timestamps import parse_timestamp
from codex_mcp.dashboard.views.rows import Counts
from codex_mcp.team.records.audit_entry import AuditEntry

PAGE: Final = 200
"""Lines of one page."""

GOOD: Final = ("ok", "running")


class Line(Struct, frozen=True, kw_only=True):
    at: float
    event: str
    outcome: str
    is_good: bool
    name: str
    text: str
    by: str
    took: str
    principal: str


class AuditPage(Struct, frozen=True, kw_only=True):
    schema: int = 1
    at: float
    sentence: str
    detail: str
    counts: Counts
    identity: str
    kind: str
    kinds: Sequence[str]
    lines: Sequence[Line]
    older: str
    """The link to the lines before these; empty if there are none."""


class AuditWanted(Struct, frozen=True):
    """Which entries."""

    principal: str | None
    identity: str = ""
    kind: str = ""
    before: str = ""

    def has(self, entry: AuditEntry) -> bool:
        return (
            self.principal in (None, entry.principal)
            and self.identity in ("", entry.identity)
            and self.kind in ("", entry.event)
            and (not self.before or entry.timestamp < self.before)
        )


def wanted_in(asked: Mapping[str, str], principal: str | None) -> AuditWanted:
    return AuditWanted(principal, *(asked.get(name, "")[:200] for name in ("identity", "kind", "before")))


def audit_page(entries: Sequence[AuditEntry], wanted: AuditWanted, counts: Counts, now: float) -> AuditPage:
    """`entries` are the newest that are wanted, one more than a page has if there are older ones."""
    shown, kinds = entries[:PAGE], {each.event for each in entries} | ({wanted.kind} - {""})
    about = {name: value for name, value in (("identity", wanted.identity), ("kind", wanted.kind)) if value}
    more = urlencode({**about, "before": shown[-1].timestamp}) if len(entries) > PAGE else ""
    several = len({each.principal for each in shown}) > 1
    return AuditPage(
        at=now,
        sentence=f"{counted(len(shown), 'line')} of the audit." if shown else "The audit has no such line.",
        detail="the newest first" if shown else "",
        counts=counts,
        identity=one_line(wanted.identity),
        kind=one_line(wanted.kind),
        kinds=sorted(map(one_line, kinds)),
        lines=[line_of(each, several=several) for each in shown],
        older=f"/ui/audit?{more}" if more else "",
    )


def line_of(entry: AuditEntry, *, several: bool = False) -> Line:
    """`several` principals: whose it is, is said."""
    try:
        at = parse_timestamp(entry.timestamp)
    except ValueError:
        at = 0.0
    via = f" ({entry.via})" if entry.via else ""
    return Line(
        at=at,
        event=one_line(entry.event.replace("_", " ")),
        outcome=one_line(entry.outcome.replace("_", " ")),
        is_good=entry.outcome in GOOD,
        name=one_line(entry.identity or ""),
        text=one_line(" · ".join(text for text in (entry.error, entry.what) if text)),
        by=one_line(f"{entry.by}{via}") if entry.by else "",
        took="" if entry.duration_ms is None else duration(entry.duration_ms),
        principal=one_line(entry.principal or "") if several else "",
    )


def duration(milliseconds: int) -> str:
    if milliseconds < 1000:
        return f"{milliseconds} ms"
    if milliseconds < 60_000:
        return f"{milliseconds / 1000:.1f} s"
    return f"{milliseconds // 60_000} min"
