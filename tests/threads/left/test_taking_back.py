"""Owners of turns are killed at every step; what they had begun is finished by the next one, once."""

import random
from collections import Counter
from pathlib import Path

import pytest

from tests.support.core.deaths import lives

STEPS = [
    ("about to be written", "written"),
    ("sent", "about to be taken back", "taken back"),
    ("about to be approved", "approved"),
    ("called", "about to do it", "done", "answer kept"),
    ("ended", "answered"),
]
"""All steps of the journal. Each of a row happens to what the one before has left, or later."""


@pytest.mark.parametrize("steps", STEPS, ids=lambda steps: str(steps[0]))
async def test_owners_that_die_between_two_steps_of_the_journal_lose_and_double_nothing(
    tmp_path: Path, steps: tuple[str, ...]
) -> None:
    assert await lives(tmp_path, steps) == Counter(steps)


async def test_owners_that_die_anywhere_lose_and_double_nothing(tmp_path: Path) -> None:
    chosen = random.Random(1)
    died = await lives(tmp_path, [str(chosen.randint(1, 50)) for _ in range(4)])
    assert died.total() > 1
