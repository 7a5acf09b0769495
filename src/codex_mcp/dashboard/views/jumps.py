"""Pure. What the palette offers: agents by name, then pages. It is part of each page, so that it needs no request."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from msgspec import Struct

from codex_mcp.dashboard.views.facts import FleetFacts
from codex_mcp.dashboard.views.rows import Looked, row_of

PAGES: Final = (
    ("Fleet", "/ui/fleet"),
    ("Needs you", "/ui/needs-you"),
    ("Mail", "/ui/mail"),
    ("Executors", "/ui/executors"),
    ("Health", "/ui/health"),
    ("Audit", "/ui/audit"),
)

MOST: Final = 100
"""Agents that are offered: those that need a person, and those that work, first."""


class Jump(Struct, frozen=True):
    name: str
    href: str
    about: str = ""
    glyph: str = ""


def jumps(looked: Sequence[Looked], facts: FleetFacts) -> list[Jump]:
    rows = [row_of(each, facts, several=False, people=False) for each in looked]
    rows.sort(key=lambda row: (("need", "work", "ready", "off").index(row.group), row.name, row.key))
    agents = [Jump(row.name, row.href, row.task, row.glyph) for row in rows[:MOST]]
    return agents + [Jump(name, href) for name, href in PAGES]
