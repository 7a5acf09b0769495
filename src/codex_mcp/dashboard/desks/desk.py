"""Which of these pages an address means, and what it shows."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Final, TypeAlias

from msgspec import Struct

from codex_mcp.base.blocking import in_thread
from codex_mcp.dashboard.desks.audit import PAGE, AuditPage, audit_page, wanted_in
from codex_mcp.dashboard.desks.executors import ExecutorsPage, executors_page
from codex_mcp.dashboard.desks.health import HealthPage, health_page
from codex_mcp.dashboard.desks.mail import Choice, MailPage, Reader, mail_page
from codex_mcp.dashboard.views.facts import Browser, FleetFacts
from codex_mcp.dashboard.views.rows import Counts
from codex_mcp.team.records.audit import newest_entries
from codex_mcp.team.records.audit_entry import AuditEntry

ADDRESS: Final = re.compile("/ui/(mail|executors|health|audit)(?:/(.{1,300}))?", re.DOTALL)

TITLES: Final[Mapping[str, str]] = {"mail": "Mail", "executors": "Executors", "health": "Health", "audit": "Audit"}

PARTS: Final[Mapping[str, Sequence[str]]] = {
    "mail": ("conversations", "letters"),
    "executors": ("places", "commands"),
    "health": ("checks", "charts", "spent", "tail"),
    "audit": (),
}
"""What changes while a page is open: macros of `desks.html`, each of which fills the element of its name."""

DeskPage: TypeAlias = MailPage | ExecutorsPage | HealthPage | AuditPage


class Desk(Struct, frozen=True, kw_only=True):
    """What is wanted, by whom."""

    name: str
    chosen: str = ""
    asked: Mapping[str, str] = {}
    reader: Reader
    principal: str | None = None
    browsers: Sequence[Browser] = ()
    entries: Sequence[AuditEntry] = ()
    """For Audit: the newest that are wanted."""


def desk_page(desk: Desk, facts: FleetFacts, counts: Counts, now: float) -> DeskPage | None:
    """None: what was chosen is not there."""
    match desk.name:
        case "mail":
            return mail_page(facts, counts, now, desk.reader, Choice(desk.asked.get("of", ""), desk.chosen))
        case "executors":
            return executors_page(facts, counts, now, desk.chosen)
        case "health":
            return None if desk.chosen else health_page(facts, counts, now, desk.browsers)
        case _:
            wanted = wanted_in(desk.asked, desk.principal)
            return None if desk.chosen else audit_page(desk.entries, wanted, counts, now)


async def entries_for(state_dir: str, desk: Desk) -> Sequence[AuditEntry]:
    """The entries that Audit shows, and one more."""
    if desk.name != "audit":
        return ()
    wanted = wanted_in(desk.asked, desk.principal)
    return await in_thread(newest_entries, state_dir, wanted.has, PAGE + 1)
