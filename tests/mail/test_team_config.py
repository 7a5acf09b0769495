import json

import pytest
from hypothesis import given

from codex_mcp.mail.team_config import config_in
from tests.support.json_values import JSON_VALUES
from tests.support.mail.fixtures import config_bytes

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
