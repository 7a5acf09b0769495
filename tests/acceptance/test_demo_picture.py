"""The picture of the demo in the documentation shows what the demo shows today."""

from tests.support.demo_picture import COLUMNS, FILE, SAYS, recorded
from tests.support.drawing import drawn, steady
from tests.support.screen import Style, rows_of, styled, text_of


def test_the_picture_is_that_of_a_run_today() -> None:
    assert steady(FILE.read_text()) == steady(drawn(recorded(), COLUMNS, SAYS)), "run make picture"


def test_a_line_that_was_written_again_is_shown_once() -> None:
    shown = "\x1b[1mone\x1b[0m\r\ntw\r\x1b[2Ktwo\r\nthree\r\x1b[2K\x1b[1A\x1b[2Klast"
    rows = rows_of(shown)
    assert [text_of(row) for row in rows] == ["one", "last", ""]
    assert [cell.style for cell in rows[0]] == [Style(looks=frozenset({"bold"}))] * 3


def test_a_screen_is_drawn_where_the_cursor_was_put() -> None:
    rows = rows_of("abc\r\ndef\x1b[1;2HX\x1b[2;4H!\x1b[1G\x1b[K1\b2\x1b]0;title\x07")
    assert [text_of(row) for row in rows] == ["aXc", "2"]
    assert [text_of(row) for row in rows_of("12345", columns=3)] == ["123", "45"]


def test_colours_are_those_of_the_terminal() -> None:
    assert styled(Style(), [1, 38, 5, 208]) == Style("#ff8700", frozenset({"bold"}))
    assert styled(Style("#ff8700", frozenset({"bold"})), [22, 38, 2, 1, 2, 3]) == Style("#010203")
    assert styled(Style("#010203"), [48, 5, 1, 39, 3]) == Style(None, frozenset({"italic"}))
