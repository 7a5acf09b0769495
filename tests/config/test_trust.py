import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from codex_mcp.base.errors import BadSetting
from codex_mcp.base.settings.groups import SETTINGS, values_of
from codex_mcp.base.settings.kinds import Events, Place, Sandbox
from codex_mcp.config.layers import Layer, RawTable, Sourced
from codex_mcp.config.trust import MAY_BE_TIGHTENED, MAY_COME_FROM_A_REPOSITORY, untrusted
from tests.support.settings import World, make_settings, table

PLACE = Place("/repo", "/home/me")
BELOW = values_of(make_settings(max_concurrent_threads=5, tokens_per_thread=1000))
RIGHTS = {"codex_bin", "codex_home", "state_dir", "model", "sandbox", "approval_policy", "base_prompt_file", "role"}


def layer(**values: object) -> Layer:
    return Layer({name: Sourced(value, f"file:{name}") for name, value in values.items()}, PLACE)


def test_a_repository_may_say_nothing_that_is_not_harmless(world: World) -> None:
    lines = {"exec_server": '"ws://elsewhere"', "exec_server_token": '"key"', "tokens": '"mine"', "host": '"0.0.0.0"'}
    table(world.repo_file, "\n".join(f"{name} = {value}" for name, value in lines.items()))
    loaded = world.load()
    assert loaded.settings == world.defaults()
    assert len(loaded.warnings) == len(lines)


def test_a_repository_may_not_say_what_runs_unless_the_user_trusts_it(world: World) -> None:
    repo = table(
        world.repo_file, 'codex_bin = "./evil"\noverrides = ["a=1"]\nevents = "none"\ntrust_repo_settings = true'
    )
    loaded = world.load()
    assert loaded.settings == world.defaults(Events.NONE)
    assert [str(warning).partition(",")[0] for warning in loaded.warnings] == [
        f"{repo}:2 sets codex_bin",
        f"{repo}:3 sets overrides",
        f"{repo}:5 sets trust_repo_settings",
    ]
    trusting = world.load("--trust-repo-settings")
    assert trusting.settings.core.codex_bin == f"{world.repo}/evil"
    assert trusting.warnings == ()
    table(world.home_file, "trust_repo_settings = true")
    assert world.load().settings.core.overrides == ("a=1",)
    assert world.load(CODEX_MCP_TRUST_REPO_SETTINGS="no").settings.core.codex_bin is None


def test_no_setting_is_both_and_none_that_gives_rights_is_harmless() -> None:
    assert not MAY_COME_FROM_A_REPOSITORY & set(MAY_BE_TIGHTENED)
    assert set(SETTINGS) >= MAY_COME_FROM_A_REPOSITORY | set(MAY_BE_TIGHTENED) | RIGHTS
    assert not RIGHTS & (MAY_COME_FROM_A_REPOSITORY | set(MAY_BE_TIGHTENED))


@pytest.mark.parametrize(
    ("name", "value", "is_taken"),
    [
        ("max_concurrent_threads", 5, True),
        ("max_concurrent_threads", 6, False),
        ("tokens_per_thread", 10, True),
        ("tokens_per_thread", 0, False),
        ("tokens_per_team", 10**9, True),
        ("turn_timeout", 1800, True),
        ("turn_timeout", 1801, False),
        ("turn_timeout", 0, False),
        ("approval_timeout", 60, True),
        ("approval_timeout", 0, True),
        ("approval_timeout", 601, False),
        ("soft_deadline", 30, True),
        ("soft_deadline", 0, False),
        ("progress_interval", 60, True),
        ("progress_interval", 1, False),
        ("progress_interval", 1e-6, False),
        ("start_timeout", 1, True),
        ("start_timeout", 0.5, False),
        ("request_timeout", 121, False),
        ("thread_idle", 10, True),
        ("thread_idle", 1, False),
        ("thread_idle", 1e-6, False),
        ("interrupt_grace", 0, True),
        ("shutdown_grace", 0, True),
        ("shutdown_grace", 31, False),
        ("shutdown_grace", 1e300, False),
        ("summary_timeout", 11, False),
        ("finished_turns_kept", 257, False),
        ("max_turns_waiting", 0, True),
        ("max_turns_waiting", 33, False),
        ("max_hops", "many", False),
        ("events", "none", True),
        ("events", "full", False),
        ("protocol", "legacy", True),
        ("log_level", "trace", False),
        ("log_level", "off", False),
        ("team", "red", True),
        ("team", "../red", False),
        ("auto_mail", False, True),
        ("auto_mail", True, True),
    ],
)
def test_limits_can_be_tightened_within_bounds(name: str, value: object, is_taken: bool) -> None:  # noqa: FBT001
    kept, warnings = untrusted(layer(**{name: value}), BELOW)
    assert (name in kept.values) is is_taken
    assert len(warnings) == (0 if is_taken else 1)


def test_mail_that_is_off_is_not_switched_on() -> None:
    kept, warnings = untrusted(layer(auto_mail=True), values_of(make_settings(auto_mail=False)))
    assert kept.values == {}
    assert [*map(str, warnings)] == [
        "file:auto_mail sets auto_mail, which is ignored: a repository may lower a limit, not raise it; "
        "set CODEX_MCP_TRUST_REPO_SETTINGS=true if you trust this one"
    ]


def test_what_a_repository_gets_wrong_is_ignored_and_stops_no_server() -> None:
    kept, warnings = untrusted(layer(max_hops="many"), BELOW)
    assert kept.values == {}
    assert [*map(str, warnings)] == [
        "cannot use max_hops = 'many' from file:max_hops: it must be a whole number from 1 to 1000; it is ignored"
    ]


def test_a_trusted_file_with_an_absurd_number_is_an_error(world: World) -> None:
    repo = table(world.repo_file, "progress_interval = 1e-6")
    with pytest.raises(BadSetting) as caught:
        world.load("--trust-repo-settings")
    assert str(caught.value) == (
        f"cannot use progress_interval = 1e-06 from {repo}:2: it must be a number of seconds from 0.01 to 3600"
    )


@given(
    st.fixed_dictionaries(
        {}, optional={name: st.booleans() if name == "auto_mail" else st.integers(1, 100) for name in SETTINGS}
    )
)
def test_everything_is_kept_as_it_is_or_warned_about(values: dict[str, object]) -> None:
    given_layer = layer(**values)
    kept, warnings = untrusted(given_layer, BELOW)
    assert kept.values.items() <= given_layer.values.items()
    assert len(kept.values) + len(warnings) == len(values)
    for name in kept.values.keys() & MAY_BE_TIGHTENED.keys():
        limit = MAY_BE_TIGHTENED[name]
        assert limit.floor <= limit.height(values[name]) <= limit.height(BELOW[name]) <= math.inf


def test_a_role_gets_words_and_no_rights() -> None:
    role = {"instructions": "be kind", "identity": "kind", "reasoning-effort": "low", "model": "big", "sandbox": "x"}
    kept, warnings = untrusted(Layer({}, PLACE, {"kind": RawTable(role, "file:7", {"model": "file:8"})}), BELOW)
    assert set(kept.roles["kind"].table) == {"instructions", "identity", "reasoning-effort"}
    assert [str(warning).partition(", which")[0] for warning in warnings] == [
        "file:8 sets model of the role kind",
        "file:7 sets sandbox of the role kind",
    ]


def test_a_role_may_be_confined() -> None:
    role = RawTable({"sandbox": Sandbox.READ_ONLY.value, "goals": False, "subagents": False}, "file:7")
    assert untrusted(Layer({}, PLACE, {"reader": role}), BELOW) == (Layer({}, PLACE, {"reader": role}), [])
