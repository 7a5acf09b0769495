from hypothesis import given
from hypothesis import strategies as st

from codex_mcp.transports.websockets.frames import frame_header, is_utf8


def test_the_head_of_a_frame_says_its_length() -> None:
    assert frame_header(5, 1) == b"\x81\x05"
    assert frame_header(126, 1) == b"\x81\x7e\x00\x7e"
    assert frame_header(1 << 16, 0, 0) == b"\x00\x7f" + (1 << 16).to_bytes(8, "big")


@given(text=st.text(), at=st.integers(0, 10))
def test_text_is_utf8_and_nothing_else(text: str, at: int) -> None:
    message = text.encode()
    assert is_utf8(message)
    assert not is_utf8(b"\xff" + message)
    assert not is_utf8(message + "é".encode()[:1])
    assert is_utf8(message[:at]) == (message[:at].decode(errors="replace").encode() == message[:at])
