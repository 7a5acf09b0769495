"""Numbers that only grow."""

from codex_mcp.threads.counts import Counts


def test_what_never_happened_is_nought() -> None:
    counts = Counts()
    assert (counts.turns["completed"], counts.decisions["approved"]) == (0, 0)
    counts.turns["completed"] += 1
    assert dict(counts.turns) == {"completed": 1}
    assert dict(Counts().turns) == {}
