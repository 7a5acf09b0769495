"""What a channel hands up."""

from codex_mcp.rpc.frame import Unreadable


def test_a_frame_thrown_away_says_why() -> None:
    assert Unreadable("it was too large").reason == "it was too large"
    assert Unreadable("it was too large").outline == b""
    assert Unreadable("a") == Unreadable("a") != Unreadable("b")
