"""The screen, plain and in colour."""

import io
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from codex_mcp.cli.demo.screen import MOST_LINES, Screen, Who
from codex_mcp.cli.mcp_client.messages import Change

CHANGE = Change("update", unified_diff="@@ -1 +1 @@\n-a\n+b\n")


class FakeTerminal(io.StringIO):
    """A file that says it is a terminal."""

    def isatty(self) -> bool:
        """Yes."""
        return True


def plain() -> tuple[Screen, io.StringIO]:
    file = io.StringIO()
    return Screen(file), file


@pytest.fixture
def terminal(monkeypatch: pytest.MonkeyPatch) -> FakeTerminal:
    """A terminal of 80 columns that knows colours."""
    monkeypatch.setenv("TERM", "xterm-256color")
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.delenv("NO_COLOR", raising=False)
    return FakeTerminal()


def test_the_speaker_stands_in_the_margin_and_long_lines_are_broken_beside_it() -> None:
    screen, file = plain()
    screen.says(Who.AGENT, "word " * 20)
    assert file.getvalue() == "agent    " + " ".join(["word"] * 14) + "\n" + " " * 9 + " ".join(["word"] * 6) + "\n\n"


def test_a_thought_is_shown_without_the_marks_of_its_heading() -> None:
    screen, file = plain()
    screen.says(Who.THINKS, "**Looking**\n\nI look.")
    assert file.getvalue() == "thinks   Looking\n         I look.\n\n"


def test_of_a_long_output_the_end_is_shown() -> None:
    screen, file = plain()
    screen.ran("seq 100", "".join(f"{n}\n" for n in range(100)), 0, 0.5)
    lines = file.getvalue().splitlines()
    assert lines[0] == "runs     $ seq 100"
    assert lines[1] == f"         … {100 - MOST_LINES} lines before"
    assert lines[-3:-1] == ["         99", "         exit code 0, 0.50 s"]
    assert len(lines) == MOST_LINES + 4


def test_a_question_shows_what_it_is_about() -> None:
    screen, file = plain()
    screen.asks("Allow it?", {"a.txt": CHANGE})
    words = " ".join(file.getvalue().split())
    assert words == "codex asks: Allow it? update a.txt @@ -1 +1 @@ -a +b"


def test_a_diff_has_its_colours(terminal: FakeTerminal) -> None:
    Screen(terminal).asks("Allow it?", {"a.txt": CHANGE})
    assert "\x1b[31m-a\x1b[0m" in terminal.getvalue()
    assert "\x1b[32m+b\x1b[0m" in terminal.getvalue()


def test_words_are_shown_while_they_arrive_on_a_terminal(terminal: FakeTerminal) -> None:
    screen = Screen(terminal)
    screen.streams(Who.AGENT, "1", "I will")
    assert "I will" in terminal.getvalue()
    screen.streams(Who.AGENT, "1", " look.")
    screen.streams(Who.AGENT, "2", "Next.")
    screen.says(Who.AGENT, "I will look.")
    assert terminal.getvalue().endswith("I will look.\n\n")
    assert terminal.getvalue().count("\x1b[?25l") == terminal.getvalue().count("\x1b[?25h") == 2


def test_elsewhere_only_the_whole_is_shown() -> None:
    screen, file = plain()
    screen.streams(Who.AGENT, "1", "I will")
    screen.settle()
    assert not screen.is_terminal
    assert file.getvalue() == ""


def test_a_line_to_be_copied_is_not_broken() -> None:
    screen, file = plain()
    screen.line("x" * 200)
    assert file.getvalue() == "x" * 200 + "\n"


def test_the_card_is_a_frame_of_eighty_columns() -> None:
    screen, file = plain()
    screen.card("Done", {"answer": "yes " * 40}, good=True)
    assert {len(line) for line in file.getvalue().splitlines()} == {80}
    assert file.getvalue().startswith("╭─ Done ─")


def test_the_cursor_stays_behind_the_question() -> None:
    screen, file = plain()
    screen.prompt("Allow it? [y]es:")
    assert file.getvalue() == "you      Allow it? [y]es: "


@given(text=st.text(max_size=300))
def test_no_text_of_others_commands_the_terminal_or_leaves_its_column(text: str) -> None:
    screen, file = plain()
    screen.says(Who.AGENT, text)
    screen.ran(text, text, 0, 0)
    assert not re.search(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]", file.getvalue())
    assert all(line[:9].strip() in ("", Who.AGENT, Who.RUNS) for line in file.getvalue().split("\n"))
