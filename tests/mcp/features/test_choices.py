"""What a person is offered for what they typed."""

from hypothesis import given
from hypothesis import strategies as st

from codex_mcp.mcp.features.choices import MAX_VALUES, choices


def test_values_that_begin_with_the_text_come_first() -> None:
    assert choices(["ab", "ba", "Abc", "c", "ab"], "a") == {"values": ["ab", "Abc", "ba"], "total": 3, "hasMore": False}


def test_there_are_at_most_a_hundred_values_and_the_answer_says_how_many_more() -> None:
    found = choices(map(str, range(250)), "")
    assert found == {"values": [str(number) for number in range(MAX_VALUES)], "total": 250, "hasMore": True}


@given(st.lists(st.text(max_size=4), max_size=150), st.text(max_size=2))
def test_every_value_is_known_and_fits(known: list[str], typed: str) -> None:
    found = choices(known, typed)
    values = found["values"]
    assert isinstance(values, list)
    assert len(values) <= MAX_VALUES
    assert all(value in known and typed.casefold() in value.casefold() for value in values)
    beginning = [value.casefold().startswith(typed.casefold()) for value in values]
    assert beginning == sorted(beginning, reverse=True)
    assert found["hasMore"] == (found["total"] != len(values))
