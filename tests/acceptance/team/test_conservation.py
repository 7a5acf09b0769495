"""The model is the judge: what it has answered is what we report, whatever agents do and whoever stops them.

`tests/judges/test_conservation.py` has the same for other versions of Codex; `make soak` takes more turns.
"""

from pathlib import Path

import pytest

from tests.support.team.conservation import conserve

TURNS = 1000

SEED = 1

pytestmark = pytest.mark.timeout(600)  # it takes 40 s on two processors that do nothing else


async def test_the_requests_and_tokens_that_the_model_counts_are_those_that_we_report(tmp_path: Path) -> None:
    done = await conserve(tmp_path, TURNS, SEED)
    assert done["turns"] >= TURNS
    assert {"restart by SIGKILL", "restart by SIGTERM", "asked for shortened", "asked for nested"} <= done.keys()
