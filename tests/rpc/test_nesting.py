"""The depth of a JSON text, and the number of its values, are told without decoding it."""

import msgspec
from hypothesis import given
from hypothesis import strategies as st

from codex_mcp.rpc.nesting import MAX_DEPTH, MAX_VALUES, why_unreadable

values = st.recursive(
    st.none() | st.integers() | st.text(max_size=6) | st.sampled_from(["[[[[", '{"', '\\"[', "\\"]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=30,
)


def depth(value: object) -> int:
    if isinstance(value, dict):
        return 1 + max(map(depth, value.values()), default=0)
    if isinstance(value, list):
        return 1 + max(map(depth, value), default=0)
    return 0


def count(value: object) -> int:
    """Every value inside of a list or an object, and these themselves."""
    if isinstance(value, dict):
        return 1 + sum(max(1, count(each)) for each in value.values())
    if isinstance(value, list):
        return 1 + sum(max(1, count(each)) for each in value)
    return 1


def is_too_deep(text: bytes, limit: int = MAX_DEPTH) -> bool:
    return "deep" in why_unreadable(text, limit)


@given(values, st.integers(0, 4))
def test_it_is_the_depth_of_the_value(value: object, limit: int) -> None:
    assert is_too_deep(msgspec.json.encode(value), limit) == (depth(value) > limit)


@given(values, st.integers(0, 20))
def test_a_value_within_the_limit_is_read_and_one_far_beyond_it_is_not(value: object, limit: int) -> None:
    text = msgspec.json.encode(value)
    if count(value) <= limit:
        assert why_unreadable(text, MAX_DEPTH, limit) == ""
    if count(value) > 2 * limit + 1:
        assert "values" in why_unreadable(text, MAX_DEPTH, limit)


@given(st.binary(max_size=200), st.integers(0, 3), st.integers(0, 3))
def test_anything_gets_an_answer(text: bytes, limit: int, most: int) -> None:
    why_unreadable(text, limit, most)


def test_the_limit_itself_is_allowed() -> None:
    assert not is_too_deep(b"[" * MAX_DEPTH + b"]" * MAX_DEPTH)
    assert is_too_deep(b"[" * (MAX_DEPTH + 1) + b"]" * (MAX_DEPTH + 1))
    assert why_unreadable(msgspec.json.encode([0] * MAX_VALUES)) == ""
    assert "values" in why_unreadable(msgspec.json.encode([0] * (MAX_VALUES + 1)))


def test_brackets_in_texts_and_side_by_side_do_not_count() -> None:
    assert not is_too_deep(msgspec.json.encode({"prompt": "[{" * 1000}))
    assert not is_too_deep(msgspec.json.encode([[] for _ in range(1000)]))


def test_what_a_text_says_is_no_value() -> None:
    code = 'x = [{"a": "\\\\"}, {"b": [1, 2]}]\n' * 100_000
    assert why_unreadable(msgspec.json.encode({"prompt": code, "other": "\\"})) == ""


def test_megabytes_of_small_values_are_refused_whatever_they_are() -> None:
    for small in (b"[],", b'{"a":1},', b'"","[[[",', b"0,", b"[" * 100 + b"]" * 100 + b","):
        text = b'{"x":[' + small * (8_000_000 // len(small)) + b"0]}"
        assert "values" in why_unreadable(text)


def test_a_long_text_without_an_end_is_settled_as_quickly_as_one_with_an_end() -> None:
    # A pattern that tries again from every quotation mark would take minutes here, and the test its time limit.
    assert why_unreadable(b'"\\' * 500_000 + b"[" * 1000) is not None
    assert is_too_deep(b"[" * 1000 + b'"' + b"x" * 1_000_000)
