"""A head waits for the first piece of its body, and for nothing else."""

import asyncio

from hypothesis import given
from hypothesis import strategies as st

from codex_mcp.transports.held_head import HeldHead

HEAD = b"HTTP/1.1 200 OK\r\n\r\n"


class Written(asyncio.Transport):
    """A connection that shows what was written to it."""

    def __init__(self) -> None:
        super().__init__()
        self.pieces: list[bytes] = []
        self.closed = False

    def write(self, data: bytes | bytearray | memoryview) -> None:
        """Keep it."""
        self.pieces.append(bytes(data))

    def is_closing(self) -> bool:
        """Is it closed?"""
        return self.closed

    def close(self) -> None:
        """It is."""
        self.closed = True


@given(st.lists(st.binary(), min_size=1))
def test_the_first_piece_goes_out_with_the_head_and_every_other_as_it_comes(body: list[bytes]) -> None:
    written = Written()
    answer = HeldHead(written)
    answer.write(HEAD)
    assert written.pieces == []
    for number, piece in enumerate(body, 1):
        answer.write(piece)
        assert len(written.pieces) == number
    assert written.pieces == [HEAD + body[0], *body[1:]]


def test_a_connection_is_closed_through_it() -> None:
    written = Written()
    answer = HeldHead(written)
    assert not answer.is_closing()
    answer.close()
    assert answer.is_closing()
    assert written.closed
