"""The page Audit: which lines, and whose."""

from codex_mcp.base.timestamps import format_timestamp
from codex_mcp.dashboard.desks.audit import PAGE, AuditWanted, audit_page, duration, wanted_in
from codex_mcp.dashboard.views.rows import Counts
from codex_mcp.team.records.audit_entry import AuditEntry
from tests.support.dashboard.facts import HARM, NOW


def entry(ago: int = 0, **changes: object) -> AuditEntry:
    base = {"timestamp": format_timestamp(NOW - ago), "event": "codex", "outcome": "ok", "identity": "arch"}
    return AuditEntry(**(base | {"principal": "alice"} | changes))  # type: ignore[arg-type]


def test_a_principal_has_its_own_lines_only() -> None:
    lines = [entry(), entry(principal="bob"), entry(principal=None)]
    assert [AuditWanted("alice").has(each) for each in lines] == [True, False, False]
    assert all(AuditWanted(None).has(each) for each in lines)


def test_lines_are_chosen_by_agent_kind_and_time() -> None:
    wanted = wanted_in({"identity": "arch", "kind": "codex", "before": format_timestamp(NOW)}, None)
    assert wanted.has(entry(1))
    assert not wanted.has(entry(0))
    assert not wanted.has(entry(1, identity="dev"))
    assert not wanted.has(entry(1, event="atm_send"))


def test_there_is_a_link_to_older_lines_while_there_are_some() -> None:
    entries = [entry(ago, what=HARM, by="mira", via="page", duration_ms=1500) for ago in range(PAGE + 1)]
    found = audit_page(entries, AuditWanted(None, kind="codex"), Counts(), NOW)
    assert (len(found.lines), found.sentence) == (PAGE, "200 lines of the audit.")
    assert found.older.startswith("/ui/audit?kind=codex&before=20")
    assert audit_page(entries[1:], AuditWanted(None), Counts(), NOW).older == ""
    line = found.lines[0]
    assert (line.by, line.took, line.principal) == ("mira (page)", "1.5 s", "")
    assert "\x1b" not in line.text
    assert (duration(5), duration(90_000)) == ("5 ms", "1 min")
