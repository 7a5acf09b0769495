"""Which handshakes an executor takes up: echoes, replays, and the two limits."""

from hypothesis import given
from hypothesis import strategies as st

from codex_mcp.relay.admission import (
    MAX_PENDING,
    MAX_STREAMS,
    REMEMBERED,
    StreamAdmission,
    StreamVerdict,
)


def test_an_echo_is_ignored_and_a_replay_refused() -> None:
    admission = StreamAdmission()
    assert admission.handshake_received("a") is StreamVerdict.ACCEPTED
    assert admission.handshake_received("a") is StreamVerdict.ECHO
    admission.validated("a")
    assert admission.handshake_received("a") is StreamVerdict.ECHO
    admission.ended("a")
    assert admission.handshake_received("a") is StreamVerdict.REPLAY


def test_pending_handshakes_and_streams_are_limited() -> None:
    admission = StreamAdmission()
    for number in range(MAX_STREAMS):
        assert admission.handshake_received(str(number)) is StreamVerdict.ACCEPTED
        admission.validated(str(number))
    assert admission.handshake_received("more") is StreamVerdict.FULL
    admission.ended("0")
    assert admission.handshake_received("more") is StreamVerdict.ACCEPTED
    waiting = StreamAdmission()
    for number in range(MAX_PENDING):
        assert waiting.handshake_received(str(number)) is StreamVerdict.ACCEPTED
    assert waiting.handshake_received("more") is StreamVerdict.FULL


def test_a_stream_that_ended_before_it_was_validated_is_not_opened() -> None:
    admission = StreamAdmission()
    admission.handshake_received("a")
    assert admission.ended("a")
    assert not admission.validated("a")
    assert not admission.ended("a")
    assert len(admission) == 0


def test_the_ids_of_ended_streams_are_limited() -> None:
    admission = StreamAdmission()
    for number in range(REMEMBERED + 1):
        admission.handshake_received(str(number))
        admission.ended(str(number))
    assert admission.handshake_received("0") is StreamVerdict.ACCEPTED
    assert admission.handshake_received("1") is StreamVerdict.REPLAY


events = st.tuples(st.sampled_from(["handshake", "validated", "ended"]), st.integers(0, 200))


@given(st.lists(events, max_size=400))
def test_the_limits_hold_in_any_life(life: list[tuple[str, int]]) -> None:
    admission = StreamAdmission()
    for event, number in life:
        match event:
            case "handshake":
                admission.handshake_received(str(number))
            case "validated":
                admission.validated(str(number))
            case _:
                admission.ended(str(number))
        assert len(admission) <= MAX_STREAMS
