"""When an executor is asked whether it is there, and when it is taken for lost."""

from hypothesis import given
from hypothesis import strategies as st

from codex_mcp.relay.frames import Ack, Data, Frame, decode
from codex_mcp.relay.liveness import ANSWER, QUIET, Check, Liveness
from codex_mcp.relay.stream import RelayStream
from tests.support.relay import paired_ciphers


def test_a_quiet_executor_is_asked_and_then_lost() -> None:
    liveness = Liveness(0.0)
    assert liveness.check(1, 1.0, is_reading=True) is Check.FINE
    assert liveness.next_check == 1.0 + QUIET
    assert liveness.check(1, 1.0 + QUIET, is_reading=True) is Check.ASK
    assert liveness.next_check == 1.0 + 2 * QUIET  # to see an answer before its time is over
    assert liveness.check(1, QUIET + ANSWER, is_reading=True) is Check.FINE
    assert liveness.next_check == 1.0 + QUIET + ANSWER
    assert liveness.check(1, 1.0 + QUIET + ANSWER, is_reading=True) is Check.LOST


def test_an_answer_starts_the_time_again() -> None:
    liveness = Liveness(0.0)
    liveness.check(1, 0.0, is_reading=True)
    assert liveness.check(1, QUIET, is_reading=True) is Check.ASK
    assert liveness.check(2, QUIET + ANSWER, is_reading=True) is Check.FINE
    assert liveness.check(2, 2 * QUIET + ANSWER, is_reading=True) is Check.ASK


def test_a_challenge_is_answered_with_one_question() -> None:
    liveness = Liveness(0.0)
    assert liveness.challenged(0, 1.0) is Check.FINE  # the executor would refuse a request before its handshake
    assert liveness.challenged(1, 1.0) is Check.ASK
    assert liveness.challenged(1, 2.0) is Check.FINE


def test_an_executor_that_we_do_not_read_is_not_lost() -> None:
    liveness = Liveness(0.0)
    for number in range(10):
        assert liveness.check(1, number * 1000.0, is_reading=False) is Check.FINE
    assert liveness.check(1, 9000.0 + QUIET, is_reading=True) is Check.ASK


@given(st.lists(st.tuples(st.floats(0, 200), st.booleans()), max_size=60))
def test_only_silence_of_a_whole_answer_time_after_a_question_is_a_loss(steps: list[tuple[float, bool]]) -> None:
    liveness, now, opened, asked_at = Liveness(0.0), 0.0, 1, 0.0
    liveness.check(opened, now, is_reading=True)
    for seconds, is_heard in steps:
        now += seconds
        opened += is_heard
        check = liveness.check(opened, now, is_reading=True)
        if check is Check.ASK:
            assert not is_heard
            asked_at = now
        elif check is Check.LOST:
            assert not is_heard
            assert now - asked_at >= ANSWER
            return
        assert liveness.next_check > now


def test_forged_acknowledgements_and_frames_prove_nothing() -> None:
    ours, theirs = paired_ciphers()
    near, far = RelayStream("s", ours), RelayStream("s", theirs)
    liveness = Liveness(0.0)
    first = decode(far.send(b"hello", 0.0)[0])
    near.frame_received(first, 0.0)
    assert liveness.check(near.opened, 0.0, is_reading=True) is Check.FINE
    checks = []
    for now in range(200):
        data = decode(near.send(b"lost on the way", now)[0]).body
        assert isinstance(data, Data)
        near.frame_received(Frame("s", Ack(), ack=data.seq), now)
        near.frame_received(first, now)  # a double
        near.due(now)  # nothing is missing, as far as the stream can tell
        checks.append(liveness.check(near.opened, now, is_reading=True))
    assert checks.index(Check.ASK) == QUIET
    assert checks.index(Check.LOST) == QUIET + ANSWER
