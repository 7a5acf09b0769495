"""A thread that may write starts read-only, and is granted what Codex's own rules would have given it."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import Raw

from codex_mcp.base.errors import BadOverride
from codex_mcp.codex.config.permissions import (
    Grant,
    Permissions,
    names_sandbox,
    needs_configuration,
    permissions_for,
    refuse_trust,
    restored,
    spec_after_turn,
)
from codex_mcp.codex.core import ThreadSpec, TurnSettings
from codex_mcp.wire.app.requests import ConfigLayer, Configuration, LayerName, TurnContext

FULL = Grant(policy={"type": "dangerFullAccess"})
WORKSPACE = Grant(
    policy={
        "type": "workspaceWrite",
        "writableRoots": [],
        "networkAccess": False,
        "excludeTmpdirEnvVar": False,
        "excludeSlashTmp": False,
    }
)


def layer(kind: str, config: dict[str, object], disabled: str | None = None) -> ConfigLayer:
    return ConfigLayer(LayerName(kind), config, disabled)


def configured(*layers: ConfigLayer, **effective: object) -> Configuration:
    return Configuration(effective, list(layers))


MODE: dict[str, object] = {"sandbox_mode": "workspace-write"}
FULL_MODE: dict[str, object] = {"sandbox_mode": "danger-full-access"}
PROFILE: dict[str, object] = {"default_permissions": "mine"}


@pytest.mark.parametrize(
    ("spec", "configuration", "expected"),
    [
        (ThreadSpec(), configured(), Permissions(None)),
        (ThreadSpec(sandbox="read-only"), configured(layer("user", MODE)), Permissions("read-only")),
        (ThreadSpec(sandbox="danger-full-access"), configured(), Permissions("read-only", FULL)),
        (ThreadSpec(sandbox="workspace-write"), configured(), Permissions("read-only", WORKSPACE)),
        (ThreadSpec(sandbox="nonsense"), configured(), Permissions("nonsense")),
        (ThreadSpec(config=MODE), configured(), Permissions("read-only", WORKSPACE)),
        (ThreadSpec(), configured(layer("user", MODE)), Permissions("read-only", WORKSPACE)),
        (ThreadSpec(), configured(layer("system", MODE)), Permissions("read-only", WORKSPACE)),
        (ThreadSpec(), configured(layer("user", {"sandbox_mode": "read-only"})), Permissions(None)),
        (ThreadSpec(), configured(layer("user", PROFILE)), Permissions("read-only", Grant(profile="mine"))),
        (ThreadSpec(), configured(layer("user", {"default_permissions": ":read-only"})), Permissions(None)),
        (ThreadSpec(), configured(layer("project", FULL_MODE, "not trusted")), Permissions(None)),
        (ThreadSpec(), configured(layer("project", FULL_MODE), layer("user", MODE)), Permissions("read-only", FULL)),
        (ThreadSpec(config=FULL_MODE), configured(layer("user", PROFILE)), Permissions("read-only", FULL)),
        (
            ThreadSpec(config=FULL_MODE),
            configured(layer("sessionFlags", PROFILE)),
            Permissions("read-only", Grant(profile="mine")),
        ),
        (
            ThreadSpec(config={"model": "m"}),
            configured(layer("sessionFlags", MODE), layer("user", PROFILE)),
            Permissions("read-only", WORKSPACE),
        ),
        (
            ThreadSpec(config=FULL_MODE),
            configured(layer("legacyManagedConfigTomlFromFile", MODE), layer("sessionFlags", {"model": "m"})),
            Permissions("read-only", WORKSPACE),
        ),
        (
            ThreadSpec(sandbox="workspace-write"),
            configured(layer("sessionFlags", PROFILE)),
            Permissions("read-only", WORKSPACE),
        ),
    ],
)
def test_which_sandbox_a_thread_gets(spec: ThreadSpec, configuration: Configuration, expected: Permissions) -> None:
    assert permissions_for(spec, configuration, "/home/me") == expected


def test_the_workspace_is_described_by_the_configuration_and_the_call_together() -> None:
    table = {"writable_roots": ["/opt"], "network_access": False, "exclude_slash_tmp": True}
    call = {"sandbox_workspace_write.network_access": True}
    spec = ThreadSpec(cwd="/repo", sandbox="workspace-write", config=call)
    found = permissions_for(spec, configured(sandbox_workspace_write=table), "/home/me")
    assert found.grant == Grant(
        policy={
            "type": "workspaceWrite",
            "writableRoots": ["/opt"],
            "networkAccess": True,
            "excludeTmpdirEnvVar": False,
            "excludeSlashTmp": True,
        }
    )


@pytest.mark.parametrize(
    ("root", "absolute"),
    [("/opt", "/opt"), ("out", "/repo/out"), ("../out", "/out"), ("~", "/home/me"), ("~/x", "/home/me/x"), (7, 7)],
)
def test_writable_roots_of_a_call_are_absolute_for_codex(root: object, absolute: object) -> None:
    config = {"sandbox_workspace_write": {"writable_roots": [root]}}
    spec = ThreadSpec(cwd="/repo", sandbox="workspace-write", config=config)
    grant = permissions_for(spec, configured(), "/home/me").grant
    assert grant is not None
    assert grant.policy is not None
    assert grant.policy["writableRoots"] == [absolute]


MODES = st.sampled_from([None, "read-only", "workspace-write", "danger-full-access"])
TABLES: st.SearchStrategy[dict[str, Any]] = st.fixed_dictionaries(
    {}, optional={"sandbox_mode": MODES, "default_permissions": st.sampled_from([":read-only", ":workspace", "mine"])}
)
KINDS = st.sampled_from(["legacyManagedConfigTomlFromFile", "sessionFlags", "project", "user", "system"])


@given(MODES, TABLES, st.lists(st.tuples(KINDS, TABLES)))
def test_no_thread_starts_with_more_than_read_only(
    sandbox: str | None, call: dict[str, Any], tables: list[tuple[str, dict[str, Any]]]
) -> None:
    """Codex makes a folder trusted when a thread starts there with more."""
    spec = ThreadSpec(sandbox=sandbox, config={key: value for key, value in call.items() if value is not None})
    layers = [layer(kind, table) for kind, table in tables]
    found = permissions_for(spec, configured(*layers), "/home/me")
    if found.grant is not None:
        assert found.start == "read-only"
        return
    assert found.start in (None, "read-only")
    values = [value for table in [call, *(table for _, table in tables)] for value in table.values()]
    assert sandbox == "read-only" or not values or {None, "read-only", ":read-only"} & set(values)


def test_what_a_call_says_in_full_needs_no_look_at_the_configuration() -> None:
    assert not needs_configuration(ThreadSpec(sandbox="read-only"))
    assert not needs_configuration(ThreadSpec(sandbox="danger-full-access"))
    assert needs_configuration(ThreadSpec(sandbox="workspace-write"))
    assert needs_configuration(ThreadSpec())


@pytest.mark.parametrize(
    "config",
    [
        {},
        {"model": "m"},
        {"projects": {}},
        {"projects": {"/a.b": {"trust_level": "untrusted"}}},
        {"projects./a.trust_level": "untrusted"},
    ],
)
def test_a_call_may_distrust(config: dict[str, object]) -> None:
    refuse_trust(config)


@pytest.mark.parametrize(
    "config",
    [
        {"projects": {"/a": {"trust_level": "trusted"}}},
        {"projects": {"/a": {"trust_level": "Trusted"}}},
        {"projects": {"/a": {"trust_level": ["trusted"]}}},
        {"projects./a.trust_level": "trusted"},
        {"projects./a.b.trust_level": "trusted"},
        {"projects./a": {"trust_level": "trusted"}},
        {"projects": {"/a": "trusted"}},
        {"projects": [{"trust_level": "trusted"}]},
        {"project_root_markers": []},
    ],
)
def test_a_call_may_not_trust(config: dict[str, object]) -> None:
    with pytest.raises(BadOverride, match="a call cannot"):
        refuse_trust(config)


@pytest.mark.parametrize(
    "spec",
    [
        ThreadSpec(sandbox="read-only"),
        ThreadSpec(config={"sandbox_mode": "read-only"}),
        ThreadSpec(config={"default_permissions": "mine"}),
        ThreadSpec(config={"sandbox_workspace_write.network_access": True}),
    ],
)
def test_settings_with_a_sandbox_replace_the_one_that_a_thread_had(spec: ThreadSpec) -> None:
    assert names_sandbox(spec)


@pytest.mark.parametrize("spec", [ThreadSpec(), ThreadSpec(config={"model": "x"})])
def test_a_thread_keeps_its_sandbox_if_its_settings_have_none(spec: ThreadSpec) -> None:
    assert not names_sandbox(spec)


@pytest.mark.parametrize(
    ("policy", "profile", "expected"),
    [
        (b'{"type": "workspace-write"}', None, WORKSPACE),
        (b'{"type": "workspace-write"}', {"id": ":workspace"}, None),
        (b'{"type": "read-only"}', None, None),
        (b'{"type": "danger-full-access"}', None, None),
        (b'{"type": "external-sandbox", "network_access": "enabled"}', None, None),
        (b"null", None, None),
    ],
)
def test_only_workspace_write_has_to_be_restored(
    policy: bytes, profile: dict[str, object] | None, expected: Grant | None
) -> None:
    assert restored(TurnContext(Raw(policy), profile)) == expected


def test_a_restored_workspace_write_has_all_its_settings() -> None:
    policy = (
        b'{"type": "workspace-write", "writable_roots": ["/a"], "network_access": true, '
        b'"exclude_tmpdir_env_var": true, "exclude_slash_tmp": true}'
    )
    assert restored(TurnContext(Raw(policy))) == Grant(
        policy={
            "type": "workspaceWrite",
            "writableRoots": ["/a"],
            "networkAccess": True,
            "excludeTmpdirEnvVar": True,
            "excludeSlashTmp": True,
        }
    )


def test_a_turn_changes_the_settings_of_its_thread_and_leaves_its_sandbox_to_the_rollout_file() -> None:
    config: dict[str, object] = {"sandbox_mode": "read-only", "sandbox_workspace_write.network_access": True, "x": 1}
    spec = ThreadSpec(cwd="/a", model="m", sandbox="read-only", config=config, base_instructions="Be brief.")
    settings = TurnSettings("/b", "never", {"type": "dangerFullAccess"}, "n", "auto", "low")
    after = spec_after_turn(spec, settings)
    assert after == ThreadSpec(
        cwd="/b",
        model="n",
        approval_policy="never",
        config={"x": 1, "model_reasoning_summary": "auto", "model_reasoning_effort": "low"},
        base_instructions="Be brief.",
    )
    assert not names_sandbox(after)
    assert "model_reasoning_effort" not in spec_after_turn(spec, TurnSettings("/b", "never", {}, "n", "auto")).config
    assert spec_after_turn(spec, None) is spec
