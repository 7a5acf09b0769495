"""Our writers against those of other programs, each in a process of its own, on one inbox. `make soak` runs more."""

from pathlib import Path

import pytest

from tests.support.mail.folders import make_team
from tests.support.mail.race import OURS, Left, race

MESSAGES = 25
"""From each writer: enough that the foreign writers alone would lose some."""

HARMLESS = [
    [OURS, OURS, "claude"],
    [OURS, "claude", "early-claude"],
    [OURS, OURS, "atm"],
    [OURS, "atm", "atm-clone"],
    [OURS, "lockless"],
    [OURS, OURS, "lockless"],
]
"""The others exclude each other, or there is only one: without us they lose nothing."""

LOSING = [
    [OURS, "claude", "atm"],
    [OURS, "claude", "atm-clone"],
    [OURS, "early-claude", "atm-clone"],
    [OURS, "lockless", "lockless"],
    [OURS, "claude", "atm", "lockless"],
]
"""The others overwrite each other, and us."""


async def none_of_ours_and_none_through_us(folder: Path, kinds: list[str]) -> Left:
    make_team(folder)
    left = await race(folder, kinds, MESSAGES)
    assert left.lost[OURS] == 0
    assert left.doubled[OURS] == 0
    assert left.through_us == set()
    return left


@pytest.mark.parametrize("kinds", HARMLESS, ids="-".join)
async def test_no_message_is_lost_between_us_and_writers_that_lose_nothing(tmp_path: Path, kinds: list[str]) -> None:
    left = await none_of_ours_and_none_through_us(tmp_path, kinds)
    assert set(left.lost.values()) == {0}
    assert set(left.doubled.values()) == {0}


@pytest.mark.parametrize("kinds", LOSING, ids="-".join)
async def test_writers_that_overwrite_each_other_lose_nothing_of_ours_and_nothing_through_us(
    tmp_path: Path, kinds: list[str]
) -> None:
    await none_of_ours_and_none_through_us(tmp_path, kinds)
