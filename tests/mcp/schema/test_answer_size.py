"""Long answers are cut after a line, sent once, and their parts together are the answer."""

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from codex_mcp.mcp.known_clients import Shows
from codex_mcp.mcp.schema.answer_size import (
    BEGINNING,
    LEAST,
    WHOLE,
    Reader,
    beginning,
    part_of,
    reader_for,
)

TEXTS = st.text(alphabet='ab\n"\\é✓😀', max_size=200)


def size(text: str) -> int:
    """Bytes in a message."""
    return len(msgspec.json.encode(text)) - 2


@given(TEXTS, st.integers(1, 50))
def test_parts_together_are_the_answer(answer: str, chars: int) -> None:
    read, parts = 0, []
    while True:
        part = part_of(answer, read, chars)
        assert part.total == len(answer)
        assert size(part.text) <= chars or len(part.text) == 1
        parts.append(part.text)
        if part.is_last:
            break
        assert part.end > read
        read = part.end
    assert "".join(parts) == answer


@given(TEXTS, st.integers(4, 50))
def test_a_part_ends_after_a_line_if_one_ends_in_its_second_half(answer: str, chars: int) -> None:
    part = part_of(answer, 0, chars)
    if not part.is_last:
        assert part.text.endswith("\n") or "\n" not in part.text[len(part.text) // 2 :]


@pytest.mark.parametrize(
    ("letter", "fit"), [("a", 36_000), ("\n", 18_000), ('"', 18_000), ("é", 18_000), ("漢", 12_000)]
)
def test_a_part_holds_what_a_client_takes_that_guesses_tokens_from_bytes(letter: str, fit: int) -> None:
    assert part_of(letter * 36_001, 0, 36_000).end == fit


@given(TEXTS, st.integers(-5, 400))
def test_without_a_limit_everything_from_a_character_on_is_one_part(answer: str, begin: int) -> None:
    part = part_of(answer, begin, None)
    assert part.text == answer[max(begin, 0) :]
    assert part.is_last
    assert part.is_whole is (begin <= 0 or not answer)


def test_the_beginning_of_an_answer_is_short() -> None:
    assert beginning("short") == "short"
    assert len(beginning("x" * 100_000)) == BEGINNING


def test_what_a_client_reads_and_how_much_is_in_the_table() -> None:
    assert reader_for("Claude-Code", "2025-11-25", None) == Reader(
        Shows.DATA, 60_000, takes_links=True, shows_of_errors=Shows.TEXT
    )
    assert reader_for("gemini-cli-mcp-client", "2025-06-18", None) == Reader(
        Shows.TEXT, 36_000, shows_of_errors=Shows.BOTH
    )
    assert reader_for("", "", None) == Reader(Shows.UNKNOWN, 36_000)


def test_the_setting_replaces_the_limit_of_every_client() -> None:
    assert reader_for("codex-mcp-client", "2025-11-25", 5) == Reader(Shows.DATA, 5, shows_of_errors=Shows.DATA)
    assert reader_for("my-script", "2025-11-25", 0) == WHOLE


def test_several_answers_share_the_limit_of_a_result() -> None:
    reader = Reader(Shows.DATA, 60_000)
    assert reader.shared_by(1) == reader
    assert reader.shared_by(3) == Reader(Shows.DATA, 20_000)
    assert reader.shared_by(1_000) == Reader(Shows.DATA, LEAST)
    assert WHOLE.shared_by(3) == WHOLE
