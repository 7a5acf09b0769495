"""The depth of a JSON text is told without decoding it."""

import msgspec
from hypothesis import given
from hypothesis import strategies as st

from codex_mcp.wire.nesting import MAX_DEPTH, is_too_deep

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


@given(values, st.integers(0, 4))
def test_it_is_the_depth_of_the_value(value: object, limit: int) -> None:
    assert is_too_deep(msgspec.json.encode(value), limit) == (depth(value) > limit)


@given(st.binary(max_size=200), st.integers(0, 3))
def test_anything_gets_an_answer(text: bytes, limit: int) -> None:
    is_too_deep(text, limit)


def test_the_limit_itself_is_allowed() -> None:
    assert not is_too_deep(b"[" * MAX_DEPTH + b"]" * MAX_DEPTH)
    assert is_too_deep(b"[" * (MAX_DEPTH + 1) + b"]" * (MAX_DEPTH + 1))


def test_brackets_in_texts_and_side_by_side_do_not_count() -> None:
    assert not is_too_deep(msgspec.json.encode({"prompt": "[{" * 1000}))
    assert not is_too_deep(msgspec.json.encode([[] for _ in range(1000)]))


def test_a_long_text_without_an_end_is_settled_as_quickly_as_one_with_an_end() -> None:
    # A pattern that tries again from every quotation mark would take minutes here, and the test its time limit.
    assert is_too_deep(b'"\\' * 500_000 + b"[" * 1000) in (True, False)
    assert is_too_deep(b"[" * 1000 + b'"' + b"x" * 1_000_000)
