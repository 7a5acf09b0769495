"""Frames, and the channel in memory that tests use."""

from codex_mcp.rpc.channel import UnreadableFrame
from tests.support.rpc.memory_channel import memory_pair


async def test_what_one_end_sends_the_other_receives_in_order() -> None:
    left, right = memory_pair()
    left.send(b"one")
    left.send(b"two")
    right.send(b"three")
    await left.drain(1)
    assert [await right.receive(), await right.receive(), await left.receive()] == [[b"one"], [b"two"], [b"three"]]


async def test_what_was_sent_before_the_end_still_arrives() -> None:
    left, right = memory_pair()
    left.send(b"last")
    await left.aclose()
    assert [await right.receive(), await right.receive(), await right.receive()] == [[b"last"], [], []]


async def test_both_ends_hear_of_the_end_and_may_close_twice() -> None:
    left, right = memory_pair()
    await left.aclose()
    await left.aclose()
    await right.aclose()
    assert [await left.receive(), await right.receive()] == [[], []]


async def test_what_is_sent_after_the_end_goes_nowhere() -> None:
    left, right = memory_pair()
    await left.aclose()
    left.send(b"lost")
    right.send(b"lost too")
    assert [await right.receive(), await left.receive()] == [[], []]


def test_a_frame_thrown_away_says_why() -> None:
    assert UnreadableFrame("it was too large").reason == "it was too large"
    assert UnreadableFrame("it was too large").outline == b""
    assert UnreadableFrame("a") == UnreadableFrame("a") != UnreadableFrame("b")
