"""Numbers that only grow."""

from codex_mcp.threads.counts import Counts


def test_what_never_happened_counts_as_none() -> None:
    counts = Counts()
    counts.turns["completed"] += 1
    counts.decisions["denied"] += 2

    assert (counts.turns["completed"], counts.turns["failed"]) == (1, 0)
    assert dict(counts.decisions) == {"denied": 2}
