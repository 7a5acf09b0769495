"""What one principal may have, and what it is told when it wants more."""

import pytest

from codex_mcp.codex.core import TurnSpec
from codex_mcp.threads.limits.quotas import Queued, all_busy, over_quota, size_of
from tests.support.settings import make_settings

LIMITS = make_settings(codex_home="x", queued_turns_per_principal=2, queued_bytes_per_principal=100).calls


@pytest.mark.parametrize(
    ("turns", "size", "prompt", "told"),
    [
        (0, 0, "", ""),
        (1, 90, "x" * 10, ""),
        (1, 90, "x" * 11, "your waiting turns hold 90 bytes, and with this one they would hold 101"),
        (2, 0, "", "you have 2 turns waiting already"),
        (0, 0, "x" * 1000, ""),
    ],
)
def test_a_turn_more_than_may_wait_is_refused_with_the_setting_that_says_so(
    turns: int, size: int, prompt: str, told: str
) -> None:
    why = over_quota(LIMITS, Queued(turns, size), TurnSpec(prompt))
    assert why.startswith(told)
    assert bool(why) == bool(told)
    assert not why or "_per_principal" in why


def test_a_thread_is_counted_before_its_first_prompt_is_known() -> None:
    assert over_quota(LIMITS, Queued(1, 99)) == ""
    assert over_quota(LIMITS, Queued(2, 0))
    assert "threads_per_principal" in all_busy(3)


def test_everything_that_a_turn_carries_has_a_size() -> None:
    spec = TurnSpec("prompt", images=("data:ab", "data:c"), preface="1234", output_schema={"a": 1})
    assert size_of(spec) == 6 + 7 + 6 + 4 + len("{'a': 1}")
