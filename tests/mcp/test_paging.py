"""Pages of a list, for any entries, sizes and changes in between."""

import base64
import contextlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from codex_mcp.mcp.paging import BadCursor, page

NAMES = st.sets(st.text(st.characters(codec="utf-8"), max_size=8), max_size=40)
SIZES = st.integers(1, 12)


def walk(entries: dict[str, object], size: int) -> tuple[list[object], int]:
    found: list[object] = []
    pages, cursor = 0, None
    while True:
        one = page("x", entries, cursor, size)
        pages += 1
        found += one.entries
        cursor = one.next_cursor
        if cursor is None:
            return found, pages


@given(NAMES, SIZES)
def test_all_pages_together_are_the_list_and_only_the_last_has_no_cursor(names: set[str], size: int) -> None:
    found, pages = walk({name: name for name in names}, size)
    assert found == sorted(names)
    assert pages == max(1, -(-len(names) // size))


@given(NAMES, SIZES, st.data())
def test_entries_that_stay_are_seen_once_whatever_comes_or_goes_between_two_pages(
    names: set[str], size: int, data: st.DataObject
) -> None:
    staying = data.draw(st.sets(st.sampled_from(sorted(names)))) if names else set()
    found: list[object] = []
    cursor = None
    while True:
        others = data.draw(NAMES)
        one = page("x", {name: name for name in staying | others}, cursor, size)
        found += one.entries
        cursor = one.next_cursor
        if cursor is None:
            break
    assert sorted(name for name in found if name in staying) == sorted(staying)
    assert found == sorted(set(map(str, found)))


@pytest.mark.parametrize("cursor", ["", "x", "=", "é", "AAAA", base64.b64encode(b'["y","a"]').decode(), "[1]"])
def test_what_is_no_cursor_of_this_list_is_refused(cursor: str) -> None:
    with pytest.raises(BadCursor, match="begin without a cursor"):
        page("x", {"a": 1}, cursor)


@given(st.text(max_size=60))
def test_no_text_is_more_than_refused(cursor: str) -> None:
    with contextlib.suppress(BadCursor):
        page("x", {"a": 1}, cursor)


def test_the_answer_has_a_cursor_only_if_there_is_more() -> None:
    entries: dict[str, object] = {"a": 1, "b": 2}
    assert page("x", entries, None).answer("things") == {"things": (1, 2)}
    assert set(page("x", entries, None, 1).answer("things")) == {"things", "nextCursor"}
