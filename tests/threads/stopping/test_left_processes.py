"""Which turn a process belongs to."""

import pytest

from codex_mcp.threads.stopping.left_processes import CALL, THREAD, Belongs, belongs

OWN, EARLIER = {"own"}, {"earlier"}


@pytest.mark.parametrize(
    ("mark", "before_the_next_turn", "after_it_began"),
    [
        ({}, Belongs.UNKNOWN, Belongs.UNKNOWN),
        ({CALL: "own"}, Belongs.UNKNOWN, Belongs.UNKNOWN),
        ({THREAD: "t"}, Belongs.UNKNOWN, Belongs.UNKNOWN),
        ({THREAD: "another"}, Belongs.ELSEWHERE, Belongs.ELSEWHERE),
        ({THREAD: "another", CALL: "own"}, Belongs.ELSEWHERE, Belongs.ELSEWHERE),
        ({THREAD: "t", CALL: "own"}, Belongs.TO_TURN, Belongs.TO_TURN),
        ({THREAD: "t", CALL: "earlier"}, Belongs.ELSEWHERE, Belongs.ELSEWHERE),
        ({THREAD: "t", CALL: "never announced"}, Belongs.TO_TURN, Belongs.ELSEWHERE),
    ],
)
def test_a_process_belongs_to_the_turn_whose_command_started_it(
    mark: dict[str, str], before_the_next_turn: Belongs, after_it_began: Belongs
) -> None:
    assert belongs(mark, "t", OWN, EARLIER) is before_the_next_turn
    assert belongs(mark, "t", OWN, None) is after_it_began
