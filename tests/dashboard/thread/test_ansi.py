"""What a terminal would leave."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from codex_mcp.dashboard.thread.ansi import LONGEST_LINE, NAMES, Piece, nearest, screen

ESC = "\x1b"


@pytest.mark.parametrize(
    ("text", "pieces"),
    [
        ("plain", [Piece("plain")]),
        (f"{ESC}[31mred{ESC}[0m not", [Piece("red", "c-red"), Piece(" not")]),
        (f"{ESC}[1;32mok{ESC}[22m ok", [Piece("ok", "c-green c-bold"), Piece(" ok", "c-green")]),
        (f"{ESC}[38;5;196mr{ESC}[38;2;10;200;10mg", [Piece("r", "c-red"), Piece("g", "c-green")]),
        (f"{ESC}[48;5;1mback", [Piece("back")]),
        ("10 %\r20 %\r100 %", [Piece("100 %")]),
        ("abc\b\bX", [Piece("aXc")]),
        (f"some{ESC}[2K\rnew", [Piece("new")]),
        (f"{ESC}]0;title\x07text{ESC}]8;;http://x{ESC}\\link{ESC}]8;;{ESC}\\", [Piece("textlink")]),
        (f"{ESC}[5;5Hmoved{ESC}[?25l", [Piece("moved")]),
        (f"{ESC}[31", [Piece("31")]),
    ],
)
def test_one_line(text: str, pieces: list[Piece]) -> None:
    assert list(screen(text).lines[0]) == pieces


def test_colours_go_on_from_line_to_line_and_the_last_line_end_is_none() -> None:
    found = screen(f"{ESC}[31mone\ntwo{ESC}[0m\n")
    assert [list(line) for line in found.lines] == [[Piece("one", "c-red")], [Piece("two", "c-red")]]
    assert not found.is_full_screen
    assert screen(f"{ESC}[?1049hvi").is_full_screen


def test_every_colour_is_one_of_the_eight() -> None:
    classes = {
        nearest(*(int(c * 51) for c in rgb))
        for rgb in [(r, g, b) for r in range(6) for g in range(6) for b in range(6)]
    }
    assert classes <= {f"c-{name}" for name in NAMES} | {""}


@given(st.text(alphabet=f"ab{ESC}[];?0123456789mKHJ\r\b\n\x07\x9bP\\", max_size=400))
def test_no_text_breaks_it_and_no_sequence_is_left(text: str) -> None:
    for line in screen(text).lines:
        assert sum(len(piece.text) for piece in line) <= LONGEST_LINE
        assert not {ESC, "\r", "\b", "\n"} & set("".join(piece.text for piece in line))


def test_a_hostile_line_takes_no_longer_than_its_length() -> None:
    bomb = f"{ESC}[" + "9;" * 200_000 + "m" + f"{ESC}]" * 10_000 + "x" * 100_000
    assert len(screen(bomb).lines) == 1
