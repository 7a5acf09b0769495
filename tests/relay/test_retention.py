"""Retention: what is kept and sent again, for a peer that acknowledges and for one that does not."""

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from codex_mcp.relay.errors import RelayError
from codex_mcp.relay.frames import Data
from codex_mcp.relay.reordering import WINDOW, WINDOW_BYTES
from codex_mcp.relay.retention import FIRST_RETRY, GAP_RETRY, GIVE_UP, LONGEST_RETRY, Retention


def sending(count: int, *, acknowledges: bool = True) -> Retention:
    retention = Retention()
    if acknowledges:
        retention.peer_acknowledges()
    for seq in range(count):
        retention.sent(Data(seq, b"x"), 0)
    return retention


def seqs(again: list[Data]) -> list[int]:
    return [data.seq for data in again]


def test_for_a_silent_peer_only_the_last_frames_are_kept_and_none_is_repeated() -> None:
    retention = sending(3 * WINDOW, acknowledges=False)
    assert len(retention) == WINDOW
    assert retention.has_room(WINDOW_BYTES)
    assert retention.next_due is None
    assert retention.due(1000) == []
    assert retention.everything(1000, 0) == []
    for seq in range(3 * WINDOW, 3 * WINDOW + 3):
        retention.sent(Data(seq, bytes(WINDOW_BYTES)), 0)
    assert len(retention) == 1


def test_the_sender_waits_for_the_window() -> None:
    retention = sending(WINDOW)
    assert not retention.has_room(1)
    retention.acknowledged(0, 0, 0, first_too=True)
    assert retention.has_room(1)
    assert not retention.has_room(WINDOW_BYTES)
    retention.acknowledged(WINDOW - 1, 0, 0, first_too=False)
    assert retention.has_room(WINDOW_BYTES)


def test_a_frame_is_repeated_later_and_later_and_then_given_up() -> None:
    retention = sending(1)
    times = []
    while (due := retention.next_due) is not None and due < GIVE_UP:
        assert seqs(retention.due(due)) == [0]
        times.append(due)
    assert times[:4] == [FIRST_RETRY, 3 * FIRST_RETRY, 7 * FIRST_RETRY, 15 * FIRST_RETRY]
    assert max(b - a for a, b in pairwise(times)) <= LONGEST_RETRY
    assert retention.due(GIVE_UP - 0.001) == []
    with pytest.raises(RelayError, match="acknowledged nothing for 30 seconds"):
        retention.due(GIVE_UP)


def test_a_reported_gap_is_filled_at_once_unless_the_frame_is_young() -> None:
    retention = sending(5)
    retention.acknowledged(1, 0b110, 0, first_too=False)
    assert retention.missing(1, 0b110, GAP_RETRY / 2) == []
    assert seqs(retention.missing(1, 0b110, GAP_RETRY)) == [2]
    assert retention.missing(1, 0b110, GAP_RETRY) == []
    assert len(retention) == 1


def test_ack_zero_alone_says_nothing_about_the_first_frame() -> None:
    retention = sending(1)
    retention.acknowledged(0, 0, 0, first_too=False)
    assert len(retention) == 1
    retention.acknowledged(0, 0, 0, first_too=True)
    assert len(retention) == 0
    assert retention.next_due is None


@pytest.mark.parametrize(("ack", "bits"), [(3, 0), (7, 0), (2, 1), (0, 0b100), (2**32 - 1, 2**32 - 1)])
def test_an_acknowledgement_of_what_was_never_sent_is_an_error(ack: int, bits: int) -> None:
    with pytest.raises(RelayError, match="beyond the 3"):
        sending(3).acknowledged(ack, bits, 0, first_too=False)


def test_a_new_connection_repeats_everything_and_starts_the_clock_again() -> None:
    retention = sending(3)
    retention.acknowledged(1, 0, 0, first_too=False)
    assert seqs(retention.everything(GIVE_UP - 1, 0)) == [2]
    assert retention.next_due == GIVE_UP - 1 + FIRST_RETRY


@given(st.integers(1, WINDOW), st.data())
def test_what_was_not_acknowledged_is_kept(count: int, draw: st.DataObject) -> None:
    retention = sending(count)
    ack = draw.draw(st.integers(0, count - 1))
    bits = draw.draw(st.integers(0, 2 ** min(32, count - 1 - ack) - 1))
    retention.acknowledged(ack, bits, 0, first_too=True)
    gone = {*range(ack + 1), *(ack + 1 + bit for bit in range(32) if bits >> bit & 1)}
    assert seqs(retention.everything(1, 0)) == [seq for seq in range(count) if seq not in gone]
