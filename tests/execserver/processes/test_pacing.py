import itertools

import pytest

from codex_mcp.execserver.processes.pacing import BUSY_PAUSE, BUSY_READS, SETTLING_BYTES, SETTLING_COST, Pacing


@pytest.mark.parametrize(
    ("is_live", "is_settling", "has_credit", "has_room"), list(itertools.product((False, True), repeat=4))
)
@pytest.mark.parametrize("is_full", [False, True])
@pytest.mark.parametrize("is_resting", [False, True])
def test_every_row_of_the_table(
    *, is_live: bool, is_settling: bool, has_credit: bool, has_room: bool, is_full: bool, is_resting: bool
) -> None:
    pacing = Pacing(is_live=is_live)
    if is_settling:
        pacing.settle()
        if not has_credit:
            pacing.was_sent(SETTLING_BYTES)
    if is_resting:
        rest(pacing)
    allowed = {(False, False): has_room, (False, True): has_room, (True, False): True, (True, True): has_credit}
    wanted = allowed[is_live, is_settling] and not is_full
    assert pacing.may_read(has_room=has_room, is_full=is_full) is wanted
    assert pacing.choose(has_room=has_room, is_full=is_full) is (wanted and not is_resting)
    assert pacing.is_reading is (wanted and not is_resting)
    assert not pacing.choose(has_room=has_room, is_full=is_full), "it has not changed again"


def rest(pacing: Pacing) -> None:
    assert [pacing.was_short(BUSY_PAUSE) for _ in range(BUSY_READS + 1)] == [*[0.0] * BUSY_READS, BUSY_PAUSE]


def test_a_rest_begins_once_and_ends() -> None:
    pacing = Pacing(is_live=True)
    rest(pacing)
    assert not pacing.was_short(BUSY_PAUSE)
    pacing.rested(2 * BUSY_PAUSE)
    assert not pacing.is_resting
    assert pacing.was_short(2 * BUSY_PAUSE), "it is still as busy"


def test_seldom_reads_and_answers_need_no_rest() -> None:
    pacing = Pacing(is_live=True)
    assert not any(pacing.was_short(number * BUSY_PAUSE) for number in range(1, 100))
    for _ in range(100):
        pacing.was_written_to()
        assert not pacing.was_short(100 * BUSY_PAUSE)


def test_small_events_use_up_the_credit_too_and_a_client_that_leaves_ends_it() -> None:
    pacing = Pacing(is_live=True)
    pacing.settle()
    for _ in range(SETTLING_BYTES // SETTLING_COST):
        assert pacing.may_read(has_room=False, is_full=False)
        pacing.was_sent(1)
    assert not pacing.may_read(has_room=True, is_full=False)
    pacing.client_left()
    assert not pacing.is_settling
    assert pacing.may_read(has_room=True, is_full=False)
    pacing.go_live()
    assert pacing.may_read(has_room=False, is_full=False)


def test_settling_ends() -> None:
    pacing = Pacing(is_live=True)
    pacing.settle()
    pacing.was_sent(SETTLING_BYTES)
    pacing.settled()
    assert pacing.may_read(has_room=False, is_full=False)
