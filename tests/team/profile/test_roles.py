"""Roles."""

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from codex_mcp.base.errors import BadSetting
from codex_mcp.base.settings.kinds import ApprovalPolicy, Sandbox
from codex_mcp.team.profile.roles import KINDS, Role, over, role_from


def read(table: dict[str, object]) -> Role:
    """The role in a table of a file."""
    return role_from(table, "reviewer", lambda key: f"/srv/.atm.toml:{len(key)}")


words = st.text("abc -", min_size=1).filter(str.strip)
roles = st.builds(
    Role,
    model=st.one_of(st.none(), words),
    reasoning_effort=st.one_of(st.none(), words),
    sandbox=st.one_of(st.none(), st.sampled_from(Sandbox)),
    approval_policy=st.one_of(st.none(), st.sampled_from(ApprovalPolicy)),
    instructions=st.one_of(st.none(), words),
    environment=st.sampled_from([None, "local", "exec-server"]),
    identity=st.sampled_from([None, "reviewer"]),
)


@given(roles, st.sampled_from("-_"))
def test_a_role_is_read_from_its_table_in_both_spellings(role: Role, between: str) -> None:
    fields: dict[str, object] = {name: value for name, value in msgspec.to_builtins(role).items() if value is not None}
    table: dict[str, object] = {name.replace("_", between): value for name, value in fields.items()}
    assert read(table) == role


def test_every_field_of_a_role_has_its_key() -> None:
    assert tuple(KINDS) == Role.__struct_fields__


@pytest.mark.parametrize(
    ("table", "sentence"),
    [
        (
            {"sandbx": "x"},
            "cannot use sandbx of the role reviewer in /srv/.atm.toml:6: no such key; did you mean sandbox?",
        ),
        ({"colour": "red"}, "no such key; a role has purpose, model, reasoning_effort, sandbox"),
        ({"sandbox": "open"}, "it must be one of read-only, workspace-write, danger-full-access"),
        ({"sandbox": ["read-only"]}, "it must be one of"),
        ({"approval-policy": 1}, "cannot use approval-policy = 1 of .*it must be one of untrusted"),
        ({"model": " "}, "it must be a text that is not empty"),
        ({"environment": 1}, "it must be a text that is not empty"),
        ({"identity": "Re viewer"}, "such as reviewer-2"),
        ({"approval-policy": "never", "approval_policy": "never"}, "occurs twice"),
    ],
)
def test_what_is_wrong_is_said_with_file_role_and_what_is_allowed(table: dict[str, object], sentence: str) -> None:
    with pytest.raises(BadSetting, match=sentence):
        read(table)


def test_a_secret_in_the_wrong_place_is_not_shown() -> None:
    with pytest.raises(BadSetting) as caught:
        read({"sandbox": "Bearer abc.def"})
    assert "abc.def" not in str(caught.value)


anything = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(), st.text()),
    lambda inner: st.lists(inner, max_size=3),
    max_leaves=5,
)


@given(st.dictionaries(st.one_of(st.sampled_from(sorted(KINDS)), st.text()), anything, max_size=4))
def test_no_table_raises_anything_else(table: dict[str, object]) -> None:
    try:
        read(table)
    except BadSetting:
        return


@given(roles, roles, roles)
def test_the_stronger_one_wins_field_by_field(call: Role, role: Role, defaults: Role) -> None:
    result = over(call, role, defaults)
    for name in Role.__struct_fields__:
        said = [getattr(layer, name) for layer in (call, role, defaults)]
        assert getattr(result, name) == next((value for value in said if value is not None), None)


@given(roles, roles, roles)
def test_laying_over_is_associative_and_nothing_changes_nothing(one: Role, two: Role, three: Role) -> None:
    assert over(over(one, two), three) == over(one, over(two, three)) == over(one, Role(), two, three)
