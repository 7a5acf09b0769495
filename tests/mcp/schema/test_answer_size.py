"""Long answers are cut after a line, sent once, and their parts together are the answer."""

from hypothesis import given
from hypothesis import strategies as st

from codex_mcp.mcp.schema.answer_size import (
    BEGINNING,
    LEAST,
    UNKNOWN_CLIENT,
    WHOLE,
    AnswerSize,
    Reads,
    answer_size,
    beginning,
    part_of,
)

TEXTS = st.text(alphabet="ab\n✓😀", max_size=200)


@given(TEXTS, st.integers(1, 50))
def test_parts_together_are_the_answer(answer: str, chars: int) -> None:
    read, parts = 0, []
    while True:
        part = part_of(answer, read, chars)
        assert part.total == len(answer)
        assert len(part.text) <= chars
        parts.append(part.text)
        if part.is_last:
            break
        assert part.end > read
        read = part.end
    assert "".join(parts) == answer


@given(TEXTS, st.integers(4, 50))
def test_a_part_ends_after_a_line_if_one_ends_in_its_second_half(answer: str, chars: int) -> None:
    part = part_of(answer, 0, chars)
    if not part.is_last and "\n" in answer[chars // 2 : chars]:
        assert part.text.endswith("\n")


@given(TEXTS, st.integers(-5, 400))
def test_without_a_limit_everything_from_a_character_on_is_one_part(answer: str, begin: int) -> None:
    part = part_of(answer, begin, None)
    assert part.text == answer[max(begin, 0) :]
    assert part.is_last
    assert part.is_whole is (begin <= 0 or not answer)


def test_the_beginning_of_an_answer_is_short() -> None:
    assert beginning("short") == "short"
    assert len(beginning("x" * 100_000)) == BEGINNING


def test_claude_code_and_codex_read_the_structured_content_and_others_the_text() -> None:
    assert answer_size("claude-code", None).reads is Reads.DATA
    assert answer_size("Claude-Code", None).reads is Reads.DATA
    assert answer_size("codex-mcp-client", None).reads is Reads.DATA
    assert answer_size("", None) == answer_size("my-script", None) == UNKNOWN_CLIENT


def test_the_setting_replaces_the_limit_of_every_client() -> None:
    assert answer_size("claude-code", 5) == AnswerSize(Reads.DATA, 5)
    assert answer_size("my-script", 0) == WHOLE


def test_several_answers_share_the_limit_of_a_result() -> None:
    size = AnswerSize(Reads.DATA, 60_000)
    assert size.shared_by(1) == size
    assert size.shared_by(3) == AnswerSize(Reads.DATA, 20_000)
    assert size.shared_by(1_000) == AnswerSize(Reads.DATA, LEAST)
    assert WHOLE.shared_by(3) == WHOLE
