"""The lease in every order of events: who is overdue never holds, and who lost never holds again."""

from hypothesis import given
from hypothesis import strategies as st

from codex_mcp.state.lease import FREEZE_AT, TABLE, Happened, Lease, Phase, Standing, after_renewal, joined, may_judge

TTL = 8.0
times = st.floats(0, 1000, allow_nan=False)


def test_every_cell_of_the_table_is_filled() -> None:
    assert set(TABLE) == {(phase, happened) for phase in Phase for happened in Happened}


def test_a_lease_is_held_frozen_and_held_again() -> None:
    lease = Lease(TTL).renewed(sent_at=100, now=101)
    assert lease.at(105.9).phase is Phase.HOLDING
    assert lease.at(106).phase is Phase.FROZEN
    assert lease.at(106).renewed(sent_at=106, now=107).phase is Phase.HOLDING


def test_a_renewal_whose_answer_came_too_late_leaves_it_frozen() -> None:
    assert Lease(TTL).renewed(sent_at=100, now=106).phase is Phase.FROZEN


def test_what_is_lost_stays_lost() -> None:
    lost = Lease(TTL).renewed(100, 100).taken_over()
    assert lost.phase is Phase.LOST
    assert lost.renewed(101, 101).phase is Phase.LOST
    assert lost.at(500).phase is Phase.LOST


@given(st.lists(st.tuples(st.sampled_from(["renewed", "late", "taken over", "look"]), st.floats(0, 20)), max_size=30))
def test_who_holds_sent_a_good_renewal_lately_and_was_never_taken_over(steps: list[tuple[str, float]]) -> None:
    lease, now, good, was_lost = Lease(TTL), 100.0, None, False
    for step, seconds in steps:
        sent_at, now = now, now + seconds
        match step:
            case "renewed":
                lease, good = lease.renewed(now, now), now
            case "late":
                lease, good = lease.renewed(sent_at, now), max(good or sent_at, sent_at)
            case "taken over":
                lease, was_lost = lease.taken_over(), True
            case _:
                lease = lease.at(now)
        if lease.at(now).phase is Phase.HOLDING:
            assert not was_lost
            assert good is not None
            assert now < good + FREEZE_AT * TTL
        assert (lease.phase is Phase.LOST) == was_lost


@given(st.lists(times, min_size=1, max_size=20))
def test_a_standing_never_shrinks_and_a_gap_begins_it_anew(sent: list[float]) -> None:
    moments = sorted(sent)
    standing = joined(moments[0], TTL)
    for moment in moments[1:]:
        before, standing = standing, after_renewal(standing, moment, TTL)
        assert standing.expires >= before.expires
        assert standing.since == (before.since if moment < before.expires else moment)


@given(times, times)
def test_only_who_held_its_lease_for_a_whole_ttl_judges(since: float, now: float) -> None:
    assert may_judge(Standing(since, now + 1), now, TTL) == (now - since >= TTL)
    assert not may_judge(Standing(since, now), now, TTL)
    assert not may_judge(None, now, TTL)
