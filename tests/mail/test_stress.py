"""Our writers against those of other programs, each in a process of its own, on one inbox. `make soak` runs more."""

from pathlib import Path

import pytest

from tests.support.mail.folders import make_team
from tests.support.mail.race import OURS, race

MESSAGES = 25
"""From each writer: enough that the foreign writers alone would lose some."""

LOCKING = [[OURS, OURS, "claude"], [OURS, "atm"]]
"""Each of these is excluded by one of our locks."""

LOSING = [[OURS, "lockless"], [OURS, "claude", "atm"]]
"""Such writers overwrite each other, and us."""


@pytest.mark.parametrize("kinds", LOCKING, ids="-".join)
async def test_no_message_is_lost_between_us_and_a_writer_with_a_lock(tmp_path: Path, kinds: list[str]) -> None:
    make_team(tmp_path)
    left = await race(tmp_path, kinds, MESSAGES)
    assert set(left.lost.values()) == {0}
    assert set(left.doubled.values()) == {0}


@pytest.mark.parametrize("kinds", LOSING, ids="-".join)
async def test_no_message_of_ours_is_lost_to_writers_that_overwrite(tmp_path: Path, kinds: list[str]) -> None:
    make_team(tmp_path)
    left = await race(tmp_path, kinds, MESSAGES)
    assert left.lost[OURS] == 0
    assert left.doubled[OURS] == 0
