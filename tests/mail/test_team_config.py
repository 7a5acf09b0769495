import json

import pytest
from hypothesis import given

from codex_mcp.mail.team_config import NewMember, config_in, with_new_member, without_members
from tests.support.json_values import JSON_VALUES
from tests.support.mail.fixtures import config_bytes

BOB = NewMember(agent_id="bob@alpha", name="bob", agent_type="codex", model="gpt-x", joined_at=1790000000000, cwd="/w")

WHOLE = ["full-atm-superset", "lead-without-model", "member-without-agentType"]


def names(name: str) -> list[str]:
    return [member.name for member in config_in(config_bytes(name)).members]


@pytest.mark.parametrize("name", WHOLE)
def test_a_team_is_read_whatever_its_members_lack(name: str) -> None:
    found = config_in(config_bytes(name))
    assert [member.name for member in found.members] == ["team-lead", "codex-1"]
    assert (found.lead, found.skipped, found.is_broken) == ("team-lead", 0, False)
    codex = found.member("codex-1")
    assert codex is not None
    assert codex.is_external
    lead = found.member("team-lead")
    assert lead is not None
    assert not lead.is_external
    assert found.member("missing") is None


def test_teams_of_a_real_claude_code() -> None:
    assert names("captured-lead-only") == ["team-lead"]
    assert names("captured-with-teammate") == ["team-lead", "alice"]


def test_one_broken_member_is_skipped() -> None:
    found = config_in(config_bytes("one-broken-member"))
    assert [member.name for member in found.members] == ["team-lead", "codex-1"]
    assert found.skipped == 1


def test_a_member_may_be_a_name_alone() -> None:
    assert names("string-member") == ["team-lead", "legacy-string-member", "codex-1"]


def test_of_a_broken_file_what_can_be_read_is_used() -> None:
    assert config_in(config_bytes("truncated")).is_broken
    wrong = config_in(config_bytes("wrong-root"))
    assert (wrong.is_broken, [member.name for member in wrong.members]) == (True, ["team-lead"])
    assert config_in(b'{"members": 7}').is_broken
    assert config_in(b"{} x").is_broken


def test_names_that_are_no_names_are_skipped() -> None:
    found = config_in(json.dumps({"members": ["../x", {"name": "../y"}, {"name": 5}, 7, "a", "a"]}).encode())
    assert ([member.name for member in found.members], found.skipped, found.lead) == (["a"], 5, None)


@given(JSON_VALUES)
def test_any_file_can_be_read(value: object) -> None:
    config_in(json.dumps(value).encode())
    config_in(json.dumps({"members": [value], "leadAgentId": value}).encode())


@pytest.mark.parametrize("name", [*WHOLE, "string-member", "one-broken-member", "captured-with-teammate"])
def test_a_member_comes_and_goes_and_nothing_else_changes(name: str) -> None:
    before = config_bytes(name)
    joined = with_new_member(before, BOB)
    assert joined is not None
    assert json.loads(joined)["members"][-1] == {
        "agentId": "bob@alpha",
        "name": "bob",
        "agentType": "codex",
        "model": "gpt-x",
        "joinedAt": 1790000000000,
        "tmuxPaneId": "",
        "cwd": "/w",
        "subscriptions": [],
        "backendType": "external",
    }
    again = with_new_member(joined, BOB)
    assert again is not None
    assert [entry.get("name") for entry in json.loads(again)["members"] if isinstance(entry, dict)].count("bob") == 1
    left = without_members(again, frozenset({"bob"}))
    assert left == before


def test_members_that_claude_code_runs_stay() -> None:
    before = config_bytes("captured-with-teammate")
    assert without_members(before, frozenset({"alice", "team-lead"})) == before


def test_a_team_without_members_gets_its_first() -> None:
    joined = with_new_member(b'{"name": "alpha"}', BOB)
    assert joined is not None
    assert [entry["name"] for entry in json.loads(joined)["members"]] == ["bob"]


def test_a_broken_file_is_left_alone() -> None:
    assert with_new_member(config_bytes("truncated"), BOB) is None
    assert without_members(config_bytes("wrong-root"), frozenset({"bob"})) is None
