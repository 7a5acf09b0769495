"""The first of the random lives of `make soak`: whatever a client is and does, nothing is lost and nothing repeated."""

from pathlib import Path

import pytest

from tests.soak.lives import lively_server, lives

LIVES = 25
"""In each test, so that one ends in time on a busy machine too."""


@pytest.mark.parametrize("first", range(0, 200, LIVES))
async def test_each_answer_is_seen_once_and_each_thread_can_be_continued(tmp_path: Path, first: int) -> None:
    async with lively_server(tmp_path) as (port, model):
        await lives(port, model, range(first, first + LIVES), at_once=6)
