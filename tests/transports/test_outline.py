"""A message that is too long to keep still tells what it is about."""

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from codex_mcp.transports.outline import BUDGET, HARD_LIMIT, LONGEST_STRING, MOST_ENTRIES, SHORTENED, Outline
from tests.support.json_values import JSON_VALUES


def outline_of(text: bytes, size: int | None = None) -> bytes:
    outline = Outline()
    step = size or len(text) or 1
    for at in range(0, len(text), step):
        outline.feed(text[at : at + step])
    return outline.text()


LONG = "ß" * LONGEST_STRING


@pytest.mark.parametrize(
    ("whole", "left"),
    [
        ({}, {}),
        ({"a": [1, 2.5, True, None, "x", {"y": []}]}, {"a": [1, 2.5, True, None, "x", {"y": []}]}),
        ({"text": LONG, "id": 7}, {"text": "ß" * (LONGEST_STRING // 2) + SHORTENED, "id": 7}),
        ({"params": {"item": {"text": LONG}, "turnId": "u"}, "method": "m"}, None),
        ({"list": list(range(1000)), "id": "after"}, {"list": list(range(MOST_ENTRIES)), "id": "after"}),
    ],
)
def test_long_strings_and_long_arrays_are_cut_and_what_comes_after_them_is_kept(whole: object, left: object) -> None:
    text = msgspec.json.encode(whole)
    outline = msgspec.json.decode(outline_of(text))
    if left is not None:
        assert outline == left
    else:
        assert (outline["method"], outline["params"]["turnId"]) == ("m", "u")


@given(st.dictionaries(st.text(), JSON_VALUES, max_size=5), st.integers(1, 50))
def test_what_is_short_is_kept_as_it_is_wherever_the_reads_end(value: dict[str, object], size: int) -> None:
    text = msgspec.json.encode(value)
    assert msgspec.json.decode(outline_of(text, size)) == msgspec.json.decode(text)


@pytest.mark.parametrize(
    "text", [b"", b"[]", b"7", b'"x"', b"{", b'{"a": 1', b'{"a": nonsense}', b"{} {}", b"}", b'{"a": "x}', b"x" * 99]
)
def test_what_is_not_one_whole_object_has_no_outline(text: bytes) -> None:
    assert outline_of(text) == outline_of(text, 1) == b""


def test_the_ids_are_found_behind_more_than_is_kept() -> None:
    many = [{"path": f"/{number}", "diff": "+" * 900} for number in range(10_000)]
    wide = {f"key {number}": "v" * 900 for number in range(10_000)}
    deep: object = "core"
    for _ in range(200):
        deep = {"deeper": [deep]}
    message = {"params": {"turn": {"items": many, "result": {"a": wide}, "deep": deep, "status": "completed"}}, "id": 5}
    outline = outline_of(msgspec.json.encode(message), 4096)
    assert len(outline) < BUDGET + HARD_LIMIT
    read = msgspec.json.decode(outline)
    assert (read["id"], read["params"]["turn"]["status"]) == (5, "completed")
    assert read["params"]["turn"]["items"][0]["path"] == "/0"


@pytest.mark.parametrize("size", [1, 7, 1000, None])
def test_a_cut_never_leaves_half_of_a_character_or_of_an_escape(size: int | None) -> None:
    for character in (b"\\ud83d\\ude00", "😀".encode(), b'\\"', b"\\\\", b"\\u00df"):
        for before in range(12):
            text = b'{"a": "%b%b", "b": 1}' % (b"x" * before, character * LONGEST_STRING)
            read = msgspec.json.decode(outline_of(text, size))
            assert read["b"] == 1
            assert read["a"].endswith(SHORTENED)
            assert len(read["a"]) > LONGEST_STRING // 13


def test_what_is_nested_without_end_is_not_held() -> None:
    outline = Outline()
    outline.feed(b'{"a": ')
    for _ in range(100):
        outline.feed(b"[" * 10_000)
    outline.feed(b"]" * 1_000_000 + b', "id": 3}')
    assert msgspec.json.decode(outline.text())["id"] == 3
    assert "bytes kept" in repr(outline)
