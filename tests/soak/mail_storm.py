"""Writers of one inbox against each other, in processes of their own: ours, Claude Code's, atm's, and lockless ones."""

import tempfile
from pathlib import Path

from tests.support.mail.folders import make_team
from tests.support.mail.race import OURS, Left, race

MIXES = (
    (OURS, OURS, "claude", "claude"),
    (OURS, OURS, "atm"),
    (OURS, "lockless"),
    (OURS, "claude", "atm"),
    ("claude", "atm"),
)
"""The last one shows what the others lose without us."""


async def mail_storm(mix: tuple[str, ...], messages: int) -> Left:
    """What is left. None of ours may be lost, and none of others through us."""
    with tempfile.TemporaryDirectory() as folder:
        make_team(Path(folder))
        left = await race(Path(folder), list(mix), messages)
    assert left.lost.get(OURS, 0) == 0
    assert left.doubled.get(OURS, 0) == 0
    assert left.through_us == set()
    if not {"claude", "atm"} <= set(mix):
        assert set(left.lost.values()) == {0}
    return left
