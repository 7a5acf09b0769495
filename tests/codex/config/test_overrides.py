import datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from codex_mcp.base.errors import BadOverride, UnknownProfile
from codex_mcp.codex.config.overrides import (
    APPROVAL_POLICIES,
    MEMORIES,
    OFF_BY_DEFAULT,
    ON_FAILURE_WARNING,
    CoreConfig,
    ThreadConfig,
    core_config,
    expanded,
    flattened,
    lift_profile,
    mapped_policy,
    merged,
    of_thread,
    parse_override,
    parse_overrides,
    profile_layer,
    thread_config,
    tool_layer,
)

OFF = expanded(dict.fromkeys((*OFF_BY_DEFAULT, MEMORIES), False))

words = st.text("abcxyz_", min_size=1, max_size=4)
leaves = st.one_of(st.booleans(), st.integers(), words, st.lists(st.integers(), max_size=3))
trees = st.recursive(
    st.dictionaries(words, leaves, max_size=3),
    lambda below: st.dictionaries(words, st.one_of(leaves, below), min_size=1, max_size=3),
    max_leaves=8,
)


@pytest.mark.parametrize(
    ("text", "key", "value"),
    [
        ("model=o3", "model", "o3"),
        ('model="o3"', "model", "o3"),
        ("model = 'a\"b", "model", 'a"b'),
        ("model= x y ", "model", "x y"),
        ("model=", "model", ""),
        ("a.b=true", "a.b", True),
        ("a.b=12", "a.b", 12),
        ('a=["x", "y"]', "a", ["x", "y"]),
        ("a={b=1}", "a", {"b": 1}),
        ("url=http://h/?a=b", "url", "http://h/?a=b"),
        ("since=2026-01-02", "since", datetime.date(2026, 1, 2)),
    ],
)
def test_an_override_is_read_as_codex_reads_it(text: str, key: str, value: object) -> None:
    assert parse_override(text) == (key, value)


@pytest.mark.parametrize("text", ["model", "=o3", "  =o3", ""])
def test_an_override_without_key_or_value_is_refused(text: str) -> None:
    with pytest.raises(BadOverride, match=r"cannot use the override .* it must be key=value"):
        parse_override(text)


@pytest.mark.parametrize("text", ["a..b=1", ".a=1", "a.=1"])
def test_a_key_with_an_empty_part_is_refused(text: str) -> None:
    with pytest.raises(BadOverride, match="cannot use the key"):
        parse_overrides([text])


def test_of_two_overrides_for_a_key_the_later_one_holds() -> None:
    assert parse_overrides(["a.b=1", "a.c=2", "a.b=3"]) == {"a": {"b": 3, "c": 2}}
    assert parse_overrides(["a.b=1", "a={c=2}"]) == {"a": {"c": 2}}
    assert parse_overrides(["a=1", "a.b=2"]) == {"a": {"b": 2}}


def test_layers_merge_tables_and_replace_everything_else() -> None:
    assert merged({"a": {"x": 1, "y": [1]}, "m": "low"}, {"a.y": [2]}, {"m": "high", "a.z": 3}) == {
        "a": {"x": 1, "y": [2], "z": 3},
        "m": "high",
    }


def test_keys_with_dots_inside_of_a_value_stay_whole() -> None:
    layer = {"mcp_servers": {"my.server": {"command": "x"}}, "projects": {"/a.b": {"trust_level": "trusted"}}, "e": {}}
    assert expanded(layer) == layer
    assert flattened(layer) == layer


@given(trees)
def test_a_tree_that_was_flattened_expands_to_itself(tree: dict[str, object]) -> None:
    assert expanded(flattened(tree)) == tree


@given(trees, trees)
def test_every_setting_of_the_upper_layer_survives_a_merge(lower: dict[str, object], upper: dict[str, object]) -> None:
    both, above = flattened(merged(lower, upper)), flattened(upper)
    assert {key: both.get(key, value) for key, value in above.items() if value != {}} == {
        key: value for key, value in above.items() if value != {}
    }


@given(trees, trees, trees)
def test_merging_changes_none_of_its_layers_and_may_be_done_in_steps(
    a: dict[str, object], b: dict[str, object], c: dict[str, object]
) -> None:
    before = repr((a, b, c))
    assert merged(merged(a, b), c) == merged(a, b, c)
    assert repr((a, b, c)) == before


def test_a_profile_comes_from_its_own_file_before_the_legacy_table() -> None:
    legacy = {"profiles": {"fast": {"model": "old"}, "only": {"model": "legacy"}}}
    assert profile_layer("fast", {"model": "new", "profile": "x"}, legacy) == {"model": "new"}
    assert profile_layer("only", None, legacy) == {"model": "legacy"}
    assert profile_layer("empty", {}, None) == {}


@pytest.mark.parametrize("name", ["nosuch", "../secret", "", "a/b", "profiles"])
def test_an_unknown_profile_is_an_error_in_the_words_of_the_old_server(name: str) -> None:
    with pytest.raises(UnknownProfile, match="Failed to load Codex configuration from overrides: config profile `"):
        profile_layer(name, None, {"profiles": {"fast": {}}})


def test_a_profile_that_is_no_table_is_unknown() -> None:
    with pytest.raises(UnknownProfile):
        profile_layer("p", None, {"profiles": {"p": 3}})
    with pytest.raises(UnknownProfile):
        profile_layer("p", None, {"profiles": 3})


def test_old_arguments_become_configuration() -> None:
    assert tool_layer() == {}
    assert tool_layer(include_plan_tool=True, compact_prompt="short") == {
        "tools.update_plan.enabled": True,
        "compact_prompt": "short",
    }
    assert tool_layer(include_plan_tool=False) == {"tools.update_plan.enabled": False}


def test_a_profile_inside_of_a_config_is_lifted_out() -> None:
    assert lift_profile({"profile": "fast", "a.b": 1}) == ({"a": {"b": 1}}, "fast")
    assert lift_profile({"a": 1}) == ({"a": 1}, None)
    assert lift_profile({"profile": ""}) == ({}, None)
    with pytest.raises(BadOverride, match="cannot use profile = 3"):
        lift_profile({"profile": 3})


@pytest.mark.parametrize(
    ("layers", "argument", "core", "told"),
    [
        ([], None, None, None),
        ([], None, "untrusted", "untrusted"),
        ([{"approval_policy": "never"}], None, "untrusted", "never"),
        ([{"approval_policy": "never"}, {"approval_policy": "untrusted"}], None, None, "untrusted"),
        ([{"approval_policy": "untrusted"}], "never", "untrusted", "never"),
        ([{"approval_policy": None}], None, None, None),
    ],
)
def test_the_policy_nearest_to_the_call_wins_and_never_stays_in_the_config(
    layers: list[dict[str, object]], argument: str | None, core: str | None, told: str | None
) -> None:
    assert thread_config(layers, approval_policy=argument, core_policy=core) == ThreadConfig({}, told)


def test_on_failure_becomes_on_request_and_the_caller_is_warned() -> None:
    expected = ThreadConfig({"model": "m"}, "on-request", (ON_FAILURE_WARNING,))
    assert thread_config([{"model": "m"}], approval_policy="on-failure") == expected
    assert thread_config([{"model": "m", "approval_policy": "on-failure"}]) == expected


def test_a_granular_policy_is_left_to_codex() -> None:
    layer = {"approval_policy": {"granular": {"rules": True}}}
    assert thread_config([layer], core_policy="untrusted") == ThreadConfig(
        {"approval_policy.granular.rules": True}, None
    )


@pytest.mark.parametrize("policy", ["always", "", 3])
def test_an_unknown_policy_is_refused_with_the_ones_that_are_known(policy: object) -> None:
    with pytest.raises(BadOverride, match="must be one of untrusted, on-failure, on-request, never"):
        mapped_policy(policy)
    assert {mapped_policy(known) for known in APPROVAL_POLICIES} == {"untrusted", "on-request", "never"}


def test_a_core_without_wishes_gets_the_outbound_features_switched_off() -> None:
    assert core_config([], None) == CoreConfig(OFF, None, None, {})


@pytest.mark.parametrize(
    ("overrides", "config"),
    [
        (["features.apps=true"], None),
        (["features={apps=true}"], None),
        ([], {"features": {"apps": True}}),
        ([], {"features": {"apps": False}}),
    ],
)
def test_what_the_user_sets_is_not_switched_off(overrides: list[str], config: dict[str, object] | None) -> None:
    found = flattened(core_config(overrides, config).overrides)
    theirs = {"features.apps": True} if overrides else {}
    assert found == {**theirs, **{key: False for key in (*OFF_BY_DEFAULT, MEMORIES) if key != "features.apps"}}


def test_only_the_server_s_own_override_switches_memories_on() -> None:
    on = {"features": {"memories": True}}
    assert flattened(core_config([], on).overrides)[MEMORIES] is False
    server = core_config(["features.memories=true"], None).overrides
    assert of_thread(server, {"model": "m"})[MEMORIES] is True
    assert of_thread(core_config([], on).overrides, on)[MEMORIES] is False
    assert of_thread({}, on) == on


@pytest.mark.parametrize(
    ("overrides", "config"),
    [
        (["approval_policy=untrusted"], None),
        (['approval_policy = "untrusted"'], {"approval_policy": "never"}),
        ([], {"approval_policy": "untrusted"}),
        (["approval_policy=never", "approval_policy=untrusted"], None),
    ],
)
def test_untrusted_is_kept_from_the_core_and_given_to_the_threads(
    overrides: list[str], config: dict[str, object] | None
) -> None:
    given: dict[str, object] = {"approval_policy": "untrusted"} if overrides else {}
    expected = CoreConfig({"approval_policy": "on-request", **OFF}, "untrusted", None, given)
    assert core_config(overrides, config) == expected


def test_other_policies_and_overrides_go_to_the_core_as_they_are() -> None:
    overrides = ["model=m", "approval_policy=never"]
    given: dict[str, object] = {"model": "m", "approval_policy": "never"}
    expected = CoreConfig({**given, **OFF}, None, None, given)
    assert core_config(overrides, {"approval_policy": "untrusted"}) == expected


def test_a_profile_among_the_overrides_is_lifted_out() -> None:
    found = core_config(["profile=fast", "model=m"], None)
    assert found == CoreConfig({"model": "m", **OFF}, None, "fast", {"model": "m"})
