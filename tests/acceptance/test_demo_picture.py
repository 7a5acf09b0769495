"""The picture of the demo in the documentation shows what the demo shows today."""

from tests.support.demo_picture import FILE, drawn, recorded, rows_of, steady, text_of


def test_the_picture_is_that_of_a_run_today() -> None:
    assert steady(FILE.read_text()) == steady(drawn(recorded())), "run make picture"


def test_a_line_that_was_written_again_is_shown_once() -> None:
    shown = "\x1b[1mone\x1b[0m\r\ntw\r\x1b[2Ktwo\r\nthree\r\x1b[2K\x1b[1A\x1b[2Klast"
    rows = rows_of(shown)
    assert [text_of(row) for row in rows] == ["one", "last", ""]
    assert [cell.style for cell in rows[0]] == ["1", "1", "1"]
