"""Moments in files."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from codex_mcp.base.timestamps import LATEST, format_timestamp, parse_timestamp


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (0.0, "1970-01-01T00:00:00.000Z"),
        (1_763_200_800.0625, "2025-11-15T10:00:00.062Z"),
        (1.9996, "1970-01-01T00:00:02.000Z"),
        (-5.0, "1970-01-01T00:00:00.000Z"),
        (1e300, "9999-12-31T23:59:59.000Z"),
    ],
)
def test_how_it_looks(seconds: float, text: str) -> None:
    assert format_timestamp(seconds) == text


@pytest.mark.parametrize(
    "text", ["2025-11-15T10:00:00Z", "2025-11-15T10:00:00.000Z", "2025-11-15T11:00:00+01:00", "2025-11-15T10:00:00"]
)
def test_other_writers_spell_it_otherwise(text: str) -> None:
    assert parse_timestamp(text) == 1_763_200_800.0


@given(st.floats(min_value=0, max_value=LATEST))
def test_a_moment_comes_back_to_the_millisecond(seconds: float) -> None:
    text = format_timestamp(seconds)
    assert abs(parse_timestamp(text) - seconds) < 0.0006
    assert format_timestamp(parse_timestamp(text)) == text


@given(st.text(max_size=40))
def test_what_is_no_moment_is_a_value_error(text: str) -> None:
    try:
        parse_timestamp(text)
    except ValueError:
        return
    assert format_timestamp(parse_timestamp(text))
