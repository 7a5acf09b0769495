import pytest

from codex_mcp.cli.audit_rows import TITLES, duration, row
from codex_mcp.team.audit_entry import AuditEntry


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
