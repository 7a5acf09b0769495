"""Reordering: by table, and any order of frames that stays within the window."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from codex_mcp.relay.errors import RelayError
from codex_mcp.relay.frames import MAX_U32, Data
from codex_mcp.relay.records import SEALED_BYTES
from codex_mcp.relay.reordering import WINDOW, WINDOW_BYTES, Reordering


def frame(seq: int) -> Data:
    return Data(seq, b"%d" % seq)


@given(st.permutations(range(WINDOW)), st.lists(st.integers(0, WINDOW - 1), max_size=40))
def test_any_order_and_any_doubles_give_each_frame_once_and_in_order(order: list[int], doubles: list[int]) -> None:
    reordering = Reordering()
    arrived = [payload for seq in [*order, *doubles] for payload in reordering.received(frame(seq))]
    assert arrived == [b"%d" % seq for seq in range(WINDOW)]
    assert reordering.acknowledgement() == (WINDOW - 1, 0)
    assert not reordering.has_gap


@given(st.sets(st.integers(0, WINDOW - 1)))
def test_what_has_arrived_is_acknowledged_exactly(seqs: set[int]) -> None:
    reordering = Reordering()
    for seq in seqs:
        reordering.received(frame(seq))
    ack, bits = reordering.acknowledgement()
    if 0 not in seqs:
        assert (ack, bits) == (0, 0)
        return
    assert set(range(ack + 1)) <= seqs
    assert ack + 1 not in seqs
    assert {ack + 1 + bit for bit in range(32) if bits >> bit & 1} == {seq for seq in seqs if ack < seq <= ack + 32}


def test_a_frame_beyond_the_window_is_an_error() -> None:
    reordering = Reordering()
    assert reordering.received(frame(WINDOW - 1)) == []
    with pytest.raises(RelayError, match="beyond the window"):
        reordering.received(frame(WINDOW))


def test_the_sequence_never_wraps() -> None:
    with pytest.raises(RelayError, match="window"):
        Reordering().received(frame(MAX_U32))
    reordering = Reordering()
    reordering.next_seq = MAX_U32 - 1
    assert reordering.received(frame(MAX_U32 - 1)) == [b"%d" % (MAX_U32 - 1)]
    with pytest.raises(RelayError, match="used up"):
        reordering.received(frame(MAX_U32))


def test_bytes_that_wait_are_limited_and_counted() -> None:
    reordering = Reordering()
    half = bytes(WINDOW_BYTES // 2)
    reordering.received(Data(1, half))
    reordering.received(Data(2, half))
    assert len(reordering.received(Data(0, b"x"))) == 3
    reordering.received(Data(4, half))
    reordering.received(Data(5, half))
    with pytest.raises(RelayError, match="bytes wait"):
        reordering.received(Data(6, b"x"))


def test_segments_are_stitched_in_any_order() -> None:
    reordering = Reordering()
    assert reordering.received(Data(2, b"c", 2, 3)) == []
    assert reordering.received(Data(3, b"next")) == []
    assert reordering.received(Data(0, b"a", 0, 3)) == []
    assert reordering.received(Data(1, b"b", 1, 3)) == [b"abc", b"next"]


@pytest.mark.parametrize(
    "second", [Data(1, b"b", 0, 2), Data(1, b"b", 1, 3), Data(1, b"b"), Data(1, bytes(SEALED_BYTES), 1, 2)]
)
def test_segments_that_do_not_fit_are_an_error(second: Data) -> None:
    reordering = Reordering()
    reordering.received(Data(0, b"a", 0, 2))
    with pytest.raises(RelayError, match="segment"):
        reordering.received(second)
    with pytest.raises(RelayError, match="segment"):
        Reordering().received(Data(0, b"b", 1, 2))
