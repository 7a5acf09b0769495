"""Which handshakes an executor takes up: echoes, replays, and the three limits."""

from hypothesis import given
from hypothesis import strategies as st

from codex_mcp.relay.admission import (
    MAX_FAILURES,
    MAX_PENDING,
    MAX_STREAMS,
    PAUSE,
    REMEMBERED,
    Admission,
    Verdict,
)


def test_an_echo_is_ignored_and_a_replay_refused() -> None:
    admission = Admission()
    assert admission.handshake_received("a", 0) is Verdict.ACCEPTED
    assert admission.handshake_received("a", 0) is Verdict.ECHO
    admission.validated("a")
    assert admission.handshake_received("a", 0) is Verdict.ECHO
    admission.ended("a")
    assert admission.handshake_received("a", 0) is Verdict.REPLAY


def test_pending_handshakes_and_streams_are_limited() -> None:
    admission = Admission()
    for number in range(MAX_STREAMS):
        assert admission.handshake_received(str(number), 0) is Verdict.ACCEPTED
        admission.validated(str(number))
    assert admission.handshake_received("more", 0) is Verdict.FULL
    admission.ended("0")
    assert admission.handshake_received("more", 0) is Verdict.ACCEPTED
    waiting = Admission()
    for number in range(MAX_PENDING):
        assert waiting.handshake_received(str(number), 0) is Verdict.ACCEPTED
    assert waiting.handshake_received("more", 0) is Verdict.FULL


def test_after_eight_failures_handshakes_pause_while_streams_continue() -> None:
    admission = Admission()
    admission.handshake_received("open", 0)
    admission.validated("open")
    for number in range(MAX_FAILURES):
        assert admission.handshake_received(str(number), 1) is Verdict.ACCEPTED
        admission.failed(str(number), 1)
    assert admission.handshake_received("later", 1 + PAUSE - 0.1) is Verdict.PAUSED
    assert len(admission) == 1
    assert admission.handshake_received("later", 1 + PAUSE) is Verdict.ACCEPTED
    admission.failed("unknown", 0)
    assert admission.handshake_received("0", 1 + PAUSE) is Verdict.REPLAY


def test_failures_are_counted_for_each_connection_and_a_pause_outlasts_it() -> None:
    admission = Admission()
    for number in range(2 * (MAX_FAILURES - 1)):
        if number == MAX_FAILURES - 1:
            admission.connected()
        assert admission.handshake_received(str(number), 1) is Verdict.ACCEPTED
        admission.failed(str(number), 1)
    assert admission.handshake_received("last", 1) is Verdict.ACCEPTED
    admission.failed("last", 1)
    admission.connected()
    assert admission.handshake_received("later", 1 + PAUSE - 0.1) is Verdict.PAUSED


def test_a_stream_that_ended_before_it_was_validated_is_not_opened() -> None:
    admission = Admission()
    admission.handshake_received("a", 0)
    assert admission.ended("a")
    assert not admission.validated("a")
    assert not admission.ended("a")
    assert len(admission) == 0


def test_the_ids_of_ended_streams_are_limited() -> None:
    admission = Admission()
    for number in range(REMEMBERED + 1):
        admission.handshake_received(str(number), 0)
        admission.ended(str(number))
    assert admission.handshake_received("0", 0) is Verdict.ACCEPTED
    assert admission.handshake_received("1", 0) is Verdict.REPLAY


events = st.tuples(st.sampled_from(["handshake", "validated", "failed", "ended"]), st.integers(0, 200))


@given(st.lists(events, max_size=400))
def test_the_limits_hold_in_any_life(life: list[tuple[str, int]]) -> None:
    admission = Admission()
    for now, (event, number) in enumerate(life):
        match event:
            case "handshake":
                admission.handshake_received(str(number), now)
            case "validated":
                admission.validated(str(number))
            case "failed":
                admission.failed(str(number), now)
            case _:
                admission.ended(str(number))
        assert len(admission) <= MAX_STREAMS
