import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from codex_mcp.mail.files.records import EMPTY, appended, array_of, records_in, replaced, salvaged, without
from tests.support.json_values import FINITE_VALUES
from tests.support.mail.fixtures import inbox_bytes

BLANK = st.text(" \n\t\r", max_size=3)


@st.composite
def arrays(draw: st.DrawFn) -> tuple[bytes, list[str]]:
    """A file, and the texts of its records: any values, laid out in any way."""
    values = draw(st.lists(FINITE_VALUES, max_size=5))
    indents = st.none() | st.integers(0, 4)
    sources = [json.dumps(value, indent=draw(indents), ensure_ascii=draw(st.booleans())) for value in values]
    text = f"{draw(BLANK)}["
    for number, source in enumerate(sources):
        text += f"{',' if number else ''}{draw(BLANK)}{source}{draw(BLANK)}"
    return f"{text}{draw(BLANK)}]{draw(BLANK)}".encode("utf-8", "surrogatepass"), sources


def texts(data: bytes) -> list[str]:
    records = records_in(data)
    assert records is not None
    return [records.source(index) for index in range(len(records.records))]


@given(arrays())
def test_an_append_changes_no_byte_of_the_file(file: tuple[bytes, list[str]]) -> None:
    data, _ = file
    records = records_in(data)
    assert records is not None
    changed = appended(records, '{"new": 1}')
    assert json.loads(changed.decode(errors="replace"))[-1] == {"new": 1}
    assert texts(changed)[:-1] == texts(data)
    if records.records:
        end = data.rindex(b"]")
        kept = len(data[:end].rstrip(b" \n\t\r"))
        assert changed.startswith(data[:kept])
        assert changed.endswith(data[kept:])


@given(arrays(), st.sets(st.integers(0, 4)))
def test_replacing_and_removing_leave_every_other_record_as_it_is(
    file: tuple[bytes, list[str]], chosen: set[int]
) -> None:
    data, sources = file
    records = records_in(data)
    assert records is not None
    places = frozenset(place for place in chosen if place < len(records.records))
    before = texts(data)
    assert len(before) == len(sources)
    assert texts(replaced(records, dict.fromkeys(places, "7"))) == [
        "7" if place in places else source for place, source in enumerate(before)
    ]
    assert texts(without(records, places)) == [text for place, text in enumerate(before) if place not in places]
    assert replaced(records, {}) == data


@given(arrays(), arrays(), st.data())
def test_what_was_there_before_changes_nothing_but_the_work(
    one: tuple[bytes, list[str]], other: tuple[bytes, list[str]], data: st.DataObject
) -> None:
    before = records_in(one[0])
    assert before is not None
    cut = data.draw(st.integers(0, len(one[0])))
    for now in (one[0], other[0], one[0][:cut] + other[0], one[0][:cut], appended(before, "7")):
        assert records_in(now, before) == records_in(now)


@pytest.mark.parametrize("now", ["[1, 23]", "[1, 2", "[1, 2,", "[1, 2, 3]", "[1, 2 3]", "[1]", "[1, 2] ]", "[01, 2]"])
def test_a_record_that_could_go_on_is_parsed_again(now: str) -> None:
    before = records_in(b"[1, 2]")
    assert before is not None
    assert records_in(now.encode(), before) == records_in(now.encode())


@pytest.mark.parametrize("data", [b"", b" \n", b"[]", b" [ ] "])
def test_an_empty_file_has_no_records(data: bytes) -> None:
    records = records_in(data)
    assert records is not None
    assert records.records == ()
    assert json.loads(appended(records, "1")) == [1]
    assert json.loads(without(records, frozenset())) == []


def test_the_layout_of_claude_code() -> None:
    data = inbox_bytes("claude-native-old")
    records = records_in(data)
    assert records is not None
    source = records.source(0)
    assert appended(EMPTY, source) == data.rstrip()
    assert appended(records, source).count(b"\n  {\n    ") == 2


@pytest.mark.parametrize(
    "data", [b"{}", b"[1", b"[1,", b"[1 2]", b"[1,]", b"[1]]", b"nonsense", b"[NaN]", b"[" * 100_000, b"\xef\xbb\xbf[]"]
)
def test_a_broken_root_is_noticed(data: bytes) -> None:
    assert records_in(data) is None


def is_object(value: object) -> bool:
    return isinstance(value, dict) and "from" in value


def test_what_is_whole_is_saved() -> None:
    assert [json.loads(text)["summary"] for text in salvaged(inbox_bytes("truncated"), is_object)] == ["old"]
    assert [json.loads(text)["summary"] for text in salvaged(inbox_bytes("wrong-root"), is_object)] == ["old"]


@pytest.mark.parametrize(
    "data",
    [
        b'[{"from": "a"}]\n  }\n]',  # the end of a longer version
        b'[{"from": "b", "text": "cut\n{"from": "a"}',  # a string that was cut: the next line is read again
        b'[{"from": "b", [ {"from": "a"} ] ',
        b'{"x": {"from": "a"}, "y": ',
        b'} ] {"from": "a"} {"from": NaN}',
    ],
)
def test_what_is_left_of_two_writers_is_saved(data: bytes) -> None:
    assert salvaged(data, is_object) == ['{"from": "a"}']


def test_an_object_inside_a_record_is_not_saved_twice() -> None:
    assert salvaged(b'[{"from": "a", "x": {"from": "b"}}, {"y": {"from": "c"}}, ', is_object) == [
        '{"from": "a", "x": {"from": "b"}}',
        '{"from": "c"}',
    ]


@pytest.mark.parametrize("part", ['{"a":', "[", '{"', "{[", "[}"])
def test_salvaging_hostile_files_ends(part: str) -> None:
    assert salvaged(part.encode() * 200_000, is_object) == []
    assert salvaged((part * 100_000 + "}]" * 100_000).encode(), is_object) == []


@given(st.lists(st.text(), max_size=3))
def test_an_array_is_made_of_its_records(values: list[str]) -> None:
    sources = [json.dumps(value) for value in values]
    assert json.loads(array_of(sources)) == values


@given(st.binary(max_size=200))
def test_any_bytes_can_be_read(data: bytes) -> None:
    if records_in(data) is None:
        salvaged(data, is_object)
