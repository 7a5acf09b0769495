"""A person sees what will run."""

import json
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from codex_mcp.base.printable import (
    HIDDEN_CATEGORIES,
    age,
    are_waiting,
    counted,
    foreign,
    json_escaped,
    one_line,
    visible,
)


def test_what_a_terminal_would_obey_is_written_out() -> None:
    assert visible("rm -rf /\r\x1b[2Kls") == "rm -rf /\\r\\u{1b}[2Kls"
    assert visible("a\u202eb") == "a\\u{202e}b"


def test_ordinary_text_in_any_language_stays() -> None:
    assert visible("naïve 日本語 ok\n\tnext") == "naïve 日本語 ok\n\tnext"


def test_on_one_line_there_are_no_line_ends() -> None:
    assert one_line("a\nb\tc\u2028d") == "a\\nb\\tc\\u{2028}d"


@given(st.text())
def test_nothing_hidden_is_left(text: str) -> None:
    assert not any(unicodedata.category(char) in HIDDEN_CATEGORIES for char in one_line(text))


@given(st.text())
def test_json_that_a_terminal_shows_is_the_same_json(text: str) -> None:
    document = json_escaped(json.dumps({"text": text}, ensure_ascii=False, indent=2))
    assert json.loads(document) == {"text": text}
    assert all(line.isprintable() for line in document.split("\n"))


def test_what_another_machine_wrote_is_one_short_printable_line() -> None:
    assert foreign("no\x1b[2J\u202e\nfingerprint") == "no\\u{1b}[2J\\u{202e}\\nfingerprint"
    assert foreign("x" * 10, 4) == "xxxx…"


def test_one_is_in_the_singular() -> None:
    assert [counted(count, "prompt") for count in (0, 1, 2)] == ["0 prompts", "1 prompt", "2 prompts"]
    assert are_waiting(1) == "1 more prompt is waiting"
    assert are_waiting(2) == "2 more prompts are waiting"


@pytest.mark.parametrize(
    ("seconds", "words"), [(-5, "0 s"), (59.9, "59 s"), (60, "1 min"), (7_200, "2 h"), (86_400 * 400, "400 d")]
)
def test_an_age_is_one_number_and_one_unit(seconds: float, words: str) -> None:
    assert age(seconds) == words
