import tomllib

from hypothesis import given
from hypothesis import strategies as st

from codex_mcp.base.settings.environments import Environment
from codex_mcp.base.settings.kinds import Sandbox
from codex_mcp.cli.config_text import as_json, as_toml
from codex_mcp.config.layers import Sourced
from codex_mcp.team.profile.roles import Role

values = st.one_of(
    st.booleans(),
    st.integers(-(2**53), 2**53),
    st.text(alphabet=st.characters(exclude_categories=["Cs"]), max_size=20),
    st.lists(st.text(alphabet="ab\"'\\\n\t\x1b\x7f é€", max_size=5), max_size=3).map(tuple),
)


def test_a_line_says_name_value_and_origin() -> None:
    sources: dict[str, Sourced[object]] = {
        "a": Sourced(600.0, "default"),
        "b": Sourced(None, "default"),
        "c": Sourced(("x", "y"), "file:3"),
        "d": Sourced(Sandbox.READ_ONLY, "--sandbox"),
    }
    assert as_toml(sources, {}, with_origin=False).splitlines() == [
        "[plugins.codex-mcp]",
        "a = 600",
        "# b =",
        'c = ["x", "y"]',
        'd = "read-only"',
    ]
    assert 'd = "read-only"  # --sandbox' in as_toml(sources, {}, with_origin=True)


@given(st.dictionaries(st.sampled_from("abcdef"), values.map(lambda value: Sourced(value, "a\nfile: 1"))))
def test_it_can_be_read_back_whatever_the_values_are(sources: dict[str, Sourced[object]]) -> None:
    told = as_toml(sources, {}, with_origin=True)
    read = tomllib.loads(told)["plugins"]["codex-mcp"]
    assert read == as_plain(sources)
    assert "\x1b" not in told


def as_plain(sources: dict[str, Sourced[object]]) -> dict[str, object]:
    shown = as_json(sources, {}, ())["settings"]
    assert isinstance(shown, dict)
    return {name: entry["value"] for name, entry in shown.items()}


def test_secrets_are_masked_in_both_forms() -> None:
    sources: dict[str, Sourced[object]] = {"overrides": Sourced(("x.password=hunter2",), "--config")}
    assert "hunter2" not in as_toml(sources, {}, with_origin=True)
    assert as_plain(sources) == {"overrides": ["x.password=****"]}


def test_environments_are_tables_of_their_own() -> None:
    build = Environment("build-1", "relay+https://relay.example.com/build-1", "/home/me/token")
    found = {"build-1": Sourced(build, "file:3")}
    told = as_toml({}, {}, found, with_origin=True)
    assert "[plugins.codex-mcp.environments.build-1]  # file:3" in told
    shown = {"url": build.url, "token_file": "/home/me/token"}
    assert tomllib.loads(told)["plugins"]["codex-mcp"]["environments"] == {"build-1": shown}
    assert as_json({}, {}, (), found)["environments"] == {"build-1": {"value": shown, "origin": "file:3"}}


def test_roles_are_tables_of_their_own() -> None:
    roles = {
        "reviewer": Sourced(Role(sandbox=Sandbox.READ_ONLY, instructions='say "why"'), "file:3"),
        "a b.c": Sourced(Role(), "file:9"),
    }
    told = as_toml({}, roles, with_origin=True)
    assert "[plugins.codex-mcp.roles.reviewer]  # file:3" in told
    assert tomllib.loads(told)["plugins"]["codex-mcp"]["roles"] == {
        "reviewer": {"sandbox": "read-only", "instructions": 'say "why"'},
        "a b.c": {},
    }
    assert as_json({}, roles, ())["roles"] == {
        "reviewer": {"value": {"sandbox": "read-only", "instructions": 'say "why"'}, "origin": "file:3"},
        "a b.c": {"value": {}, "origin": "file:9"},
    }
