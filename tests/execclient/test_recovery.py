"""Connected, recovering, failed: by table, and for any sequence of what may happen."""

from hypothesis import given
from hypothesis import strategies as st

from codex_mcp.execclient.recovery import RECOVERY_SECONDS, RETRY_SECONDS, ConnectionState, Recovery, ResumeFailure

TEMPORARY = ResumeFailure("connection refused", is_temporary=True)
PERMANENT = ResumeFailure("unknown session id s1", is_temporary=False)


def recovering(now: float = 100.0) -> Recovery:
    recovery = Recovery(can_resume=True)
    assert recovery.lost(1, now, "reset by peer")
    return recovery


def test_the_loss_of_the_current_connection_begins_a_recovery_with_a_deadline() -> None:
    recovery = recovering(now=100.0)
    assert recovery.state is ConnectionState.RECOVERING
    assert recovery.deadline == 100.0 + RECOVERY_SECONDS
    assert not recovery.lost(1, 101.0, "again")
    assert recovery.deadline == 100.0 + RECOVERY_SECONDS


def test_a_new_generation_takes_over() -> None:
    recovery = recovering()
    assert recovery.attempt(100.1) == 2
    recovery.resumed()
    assert repr(recovery) == "<Recovery: connected, generation 2>"


def test_late_news_of_an_older_generation_changes_nothing() -> None:
    recovery = recovering()
    recovery.attempt(100.1)
    recovery.resumed()
    assert not recovery.lost(1, 100.2, "late")
    assert recovery.state is ConnectionState.CONNECTED
    assert recovery.lost(2, 100.3, "now it is this one")


def test_after_a_temporary_failure_it_tries_again_until_the_deadline() -> None:
    recovery = recovering(now=100.0)
    assert recovery.attempt(100.0) == 2
    assert recovery.not_resumed(TEMPORARY, 100.0) == RETRY_SECONDS
    assert recovery.attempt(100.1) == 3
    assert recovery.not_resumed(TEMPORARY, recovery.deadline) is None
    assert recovery.state is ConnectionState.FAILED
    assert "reset by peer" in recovery.failure
    assert "connection refused" in recovery.failure


def test_a_permanent_failure_ends_the_recovery_at_once() -> None:
    recovery = recovering()
    recovery.attempt(100.0)
    assert recovery.not_resumed(PERMANENT, 100.0) is None
    assert recovery.state is ConnectionState.FAILED
    assert recovery.failure.startswith("cannot continue: ")
    assert recovery.failure.endswith("unknown session id s1")


def test_there_is_no_attempt_after_the_deadline() -> None:
    recovery = recovering(now=100.0)
    assert recovery.attempt(recovery.deadline) is None
    assert recovery.state is ConnectionState.FAILED


def test_what_cannot_be_dialled_again_fails_with_its_connection() -> None:
    recovery = Recovery(can_resume=False)
    assert recovery.lost(1, 0.0, "")
    assert recovery.state is ConnectionState.FAILED
    assert recovery.attempt(0.0) is None


def test_closing_is_final_and_twice_is_fine() -> None:
    recovery = Recovery(can_resume=True)
    recovery.close()
    first = recovery.failure
    recovery.close()
    recovery.resumed()
    assert (recovery.state, recovery.failure) == (ConnectionState.FAILED, first)
    assert not recovery.lost(1, 0.0, "")
    assert recovery.not_resumed(TEMPORARY, 0.0) is None


def test_a_failure_before_the_close_keeps_its_text() -> None:
    recovery = recovering()
    recovery.not_resumed(PERMANENT, 100.0)
    failure = recovery.failure
    recovery.close()
    assert recovery.failure == failure


STEPS = st.one_of(
    st.tuples(st.just("lost"), st.integers(1, 5)),
    st.tuples(st.just("attempt"), st.just(0)),
    st.tuples(st.just("temporary"), st.just(0)),
    st.tuples(st.just("permanent"), st.just(0)),
    st.tuples(st.just("resumed"), st.just(0)),
    st.tuples(st.just("close"), st.just(0)),
)


@given(st.lists(st.tuples(STEPS, st.floats(0, 10))))
def test_whatever_happens_generations_only_grow_and_failure_is_final(
    steps: list[tuple[tuple[str, int], float]],
) -> None:
    recovery = Recovery(can_resume=True)
    now = 0.0
    for (step, generation), seconds in steps:
        now += seconds
        before = (recovery.state, recovery.generation, recovery.failure)
        match step:
            case "lost":
                began = recovery.lost(generation, now, "cut")
                assert began == (before[0] is ConnectionState.CONNECTED and generation == before[1])
            case "attempt":
                made = recovery.attempt(now)
                assert (made is None) == (before[0] is not ConnectionState.RECOVERING or now >= recovery.deadline)
            case "temporary" | "permanent":
                again = recovery.not_resumed(TEMPORARY if step == "temporary" else PERMANENT, now)
                assert again is None or (
                    recovery.state is ConnectionState.RECOVERING and now + again < recovery.deadline
                )
            case "resumed":
                recovery.resumed()
            case _:
                recovery.close()
        assert recovery.generation >= before[1]
        assert (recovery.state is ConnectionState.FAILED) == bool(recovery.failure)
        if before[0] is ConnectionState.FAILED:
            assert (recovery.state, recovery.generation, recovery.failure) == before
