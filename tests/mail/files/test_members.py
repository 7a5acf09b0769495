import json

from hypothesis import given
from hypothesis import strategies as st

from codex_mcp.mail.files.members import member_source, with_member, without_member
from tests.support.json_values import FINITE_VALUES

OBJECTS = st.dictionaries(st.text() | st.sampled_from(["read", "metadata"]), FINITE_VALUES, max_size=4)
LAYOUTS = st.none() | st.integers(0, 4)
PATHS = st.sampled_from([("read",), ("metadata", "atm", "acknowledgedAt"), ("metadata",)])


def written(value: object, indent: int | None) -> str:
    return json.dumps(value, indent=indent)


@given(OBJECTS, LAYOUTS, PATHS)
def test_a_member_is_set_and_nothing_else_changes(
    record: dict[str, object], indent: int | None, path: tuple[str, ...]
) -> None:
    source = written(record, indent)
    changed = with_member(source, path, '"new"')
    found = json.loads(changed)
    for key in path:
        found = found[key]
    assert found == "new"
    for key in record:
        if key != path[0]:
            assert member_source(changed, key) == member_source(source, key)
    if path[0] not in record:
        assert changed.startswith(source.rstrip(" \n}")) or not record
        assert json.loads(without_member(changed, path[:1])) == json.loads(source)
    assert with_member(changed, path, '"new"') == changed


@given(OBJECTS, LAYOUTS, PATHS)
def test_a_member_is_removed_and_nothing_else_changes(
    record: dict[str, object], indent: int | None, path: tuple[str, ...]
) -> None:
    source = written(record, indent)
    changed = without_member(source, path)
    assert without_member(changed, path) == changed
    for key in record:
        if key != path[0]:
            assert member_source(changed, key) == member_source(source, key)
    assert (path[0] in json.loads(changed)) is (path[0] in record and len(path) > 1)


def test_what_is_in_the_way_is_replaced() -> None:
    assert with_member('{"metadata": 7}', ("metadata", "atm"), "1") == '{"metadata": {"atm": 1}}'
    assert without_member('{"metadata": 7}', ("metadata", "atm")) == '{"metadata": 7}'
    assert without_member('{"metadata": {"atm": 1, "b": 2}}', ("metadata", "atm")) == '{"metadata": {"b": 2}}'


def test_of_a_repeated_key_the_last_counts() -> None:
    twice = '{"read": false, "x": 1e999, "read" : false}'
    assert with_member(twice, ("read",), "true") == '{"read": false, "x": 1e999, "read" : true}'
    assert without_member(twice, ("read",)) == '{"x": 1e999}'
