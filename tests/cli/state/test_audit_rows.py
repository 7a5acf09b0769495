import pytest

from codex_mcp.cli.state.audit_rows import OPTIONAL, TITLES, duration, row
from codex_mcp.cli.tables import cell_width, table
from codex_mcp.team.records.audit_entry import AuditEntry


def test_a_row_says_when_who_did_what_and_what_came_of_it() -> None:
    entry = AuditEntry(
        timestamp="2026-11-15T10:00:00.000Z",
        event="codex",
        outcome="failed",
        identity="me",
        duration_ms=1500,
        what="mend it",
        error="no model",
    )
    assert row(entry) == ("2026-11-15T10:00:00.000Z", "failed", "codex", "me", "1.5 s", "no model · mend it")
    assert len(TITLES) == len(row(entry))


def test_what_does_not_apply_is_empty() -> None:
    assert row(AuditEntry(timestamp="t", event="e", outcome="ok")) == ("t", "ok", "e", "", "", "")


@pytest.mark.parametrize(
    ("milliseconds", "words"), [(0, "0 ms"), (999, "999 ms"), (59_940, "59.9 s"), (60_000, "1 min")]
)
def test_durations_have_one_unit(milliseconds: int, words: str) -> None:
    assert duration(milliseconds) == words


@pytest.mark.parametrize("width", [60, 80, 120])
def test_the_table_fits_a_terminal_and_lines_that_come_later_stand_below_it(width: int) -> None:
    short = AuditEntry(timestamp="2026-11-15T10:00:00.000Z", event="codex", outcome="ok")
    long = AuditEntry(
        timestamp="2026-11-15T10:00:00.000Z",
        event="codex_approvals",
        outcome="interrupted",
        identity="a-reviewer-of-many-things",
        duration_ms=61_000,
        what="x" * 200,
    )
    tables = [table(TITLES, [row(entry)], width, whole=1, optional=OPTIONAL) for entry in (short, long)]
    assert all(cell_width(line) <= width for told in tables for line in told.splitlines())
    heads = [[title[:4] for title in told.splitlines()[0].split()] for told in tables]
    assert heads[0] == heads[1]
    assert {"TIME", "OUTC", "EVEN", "WHAT"} <= set(heads[0])
