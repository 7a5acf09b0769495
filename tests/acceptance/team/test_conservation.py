"""The model is the judge: what it has answered is what we report, whatever agents do and whoever stops them.

`make soak` does the same for a thousand turns.
"""

from pathlib import Path

from tests.support.team.conservation import conserve

ROUNDS = 11

SEED = 1


async def test_the_tokens_that_the_model_counts_are_those_that_we_report(tmp_path: Path) -> None:
    done = await conserve(tmp_path, ROUNDS, SEED)
    assert {"restart by SIGKILL", "restart by SIGTERM"} <= done.keys()
