import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from codex_mcp.mail.registration import MARK, NewMember, Owner, owners_in, registered
from tests.support.json_values import JSON_VALUES
from tests.support.mail.fixtures import config_bytes

US = Owner(10, "100", "here")
DEAD = Owner(11, "101", "here")
LIVING = Owner(12, "102", "here")

CONFIGS = [
    "full-atm-superset",
    "lead-without-model",
    "member-without-agentType",
    "string-member",
    "one-broken-member",
    "captured-with-teammate",
]


def agent(name: str) -> NewMember:
    return NewMember(
        agent_id=f"{name}@alpha", name=name, agent_type="codex", model="gpt-x", joined_at=1790000000000, cwd="/w"
    )


def entry(name: str, owner: Owner | None) -> dict[str, Any]:
    mark = None if owner is None else {"pid": owner.pid, "procStart": owner.proc_start, "pidSpace": owner.pid_space}
    return {"name": name} if mark is None else {"name": name, "backendType": "external", MARK: mark}


def names_in(data: bytes) -> list[str]:
    return [each["name"] for each in json.loads(data)["members"]]


@pytest.mark.parametrize("name", CONFIGS)
def test_agents_come_and_go_and_nothing_else_changes(name: str) -> None:
    before = config_bytes(name)
    joined = registered(before, [agent("bob"), agent("carl")], US, frozenset())
    assert joined is not None
    assert joined.names == {"bob", "carl"}
    assert json.loads(joined.data)["members"][-2] == {
        "agentId": "bob@alpha",
        "name": "bob",
        "agentType": "codex",
        "model": "gpt-x",
        "joinedAt": 1790000000000,
        "tmuxPaneId": "",
        "cwd": "/w",
        "subscriptions": [],
        "backendType": "external",
        "codexMcp": {"pid": 10, "procStart": "100", "pidSpace": "here"},
    }
    assert owners_in(joined.data) == {US}
    again = registered(joined.data, [agent("bob"), agent("carl")], US, frozenset())
    assert again == joined
    one_left = registered(joined.data, [agent("carl")], US, frozenset())
    assert one_left is not None
    assert one_left.names == {"carl"}
    left = registered(one_left.data, [], US, frozenset())
    assert left is not None
    assert (left.data, left.names) == (before, frozenset())


def test_only_entries_of_this_server_and_of_dead_ones_are_removed() -> None:
    entries = [entry("lead", None), entry("ours", US), entry("dead", DEAD), entry("theirs", LIVING)]
    entries.append({"name": "odd", MARK: {"pid": "no number"}})
    found = registered(json.dumps({"members": entries}).encode(), [], US, frozenset({DEAD}))
    assert found is not None
    assert names_in(found.data) == ["lead", "theirs", "odd"]


@pytest.mark.parametrize("owner", [None, LIVING])
def test_a_name_that_another_has_is_left_to_it_even_if_ours_was_there_first(owner: Owner | None) -> None:
    data = json.dumps({"members": [entry("bob", US), entry("bob", owner)]}).encode()
    found = registered(data, [agent("bob"), agent("carl")], US, frozenset())
    assert found is not None
    assert found.names == {"carl"}
    assert names_in(found.data) == ["bob", "carl"]


def test_the_name_of_a_dead_server_is_free_and_a_repeated_entry_goes() -> None:
    data = json.dumps({"members": [entry("bob", DEAD), entry("carl", US), entry("carl", US)]}).encode()
    found = registered(data, [agent("bob"), agent("carl"), agent("../x")], US, frozenset({DEAD}))
    assert found is not None
    assert found.names == {"bob", "carl"}
    assert names_in(found.data) == ["carl", "bob"]


def test_a_team_without_members_gets_its_first() -> None:
    found = registered(b'{"name": "alpha"}', [agent("bob")], US, frozenset())
    assert found is not None
    assert names_in(found.data) == ["bob"]


@pytest.mark.parametrize("name", ["truncated", "wrong-root"])
def test_a_broken_file_is_left_alone(name: str) -> None:
    assert registered(config_bytes(name), [agent("bob")], US, frozenset()) is None
    assert owners_in(config_bytes(name)) == frozenset()


OWNERS = st.sampled_from([None, US, DEAD, LIVING])
NAMES = st.sampled_from(["a", "b", "c", "d"])
ENTRIES = st.lists(st.builds(entry, NAMES, OWNERS) | JSON_VALUES)


@given(ENTRIES, st.sets(NAMES), st.sampled_from([None, 1, "\t"]))
def test_whatever_is_in_the_file_entries_of_others_keep_their_text_and_order(
    entries: list[Any], wanted: set[str], indent: int | str | None
) -> None:
    data = json.dumps({"x": [1.0, 2], "members": entries, "y": "z"}, indent=indent).encode()
    found = registered(data, [agent(name) for name in sorted(wanted)], US, frozenset({DEAD}))
    assert found is not None
    after = json.loads(found.data)
    ours = [US, DEAD]
    marks = [{"pid": each.pid, "procStart": each.proc_start, "pidSpace": each.pid_space} for each in ours]

    def is_ours(value: Any) -> bool:
        return isinstance(value, dict) and value.get(MARK) in marks

    foreign = [each for each in entries if not is_ours(each)]
    assert [each for each in after["members"] if not is_ours(each)] == foreign
    taken = {each["name"] for each in foreign if isinstance(each, dict) and each.get("name") in set("abcd")}
    taken |= {each for each in foreign if isinstance(each, str)}
    assert found.names == wanted - taken
    assert sorted(each["name"] for each in after["members"] if is_ours(each)) == sorted(found.names)
    again = registered(found.data, [agent(name) for name in sorted(wanted)], US, frozenset({DEAD}))
    assert again == found
