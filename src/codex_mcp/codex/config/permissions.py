"""Pure. How a new thread gets its sandbox without its folder becoming trusted.

When a thread starts that may write to its folder, Codex trusts the folder: it adds it to config.toml and then runs what
the repository's `.codex/config.toml` contains (MCP servers, hooks, rules). So a thread that may write starts read-only
and gets its sandbox afterwards by `thread/settings/update`, which does not change trust. Marking the folder as
untrusted is not a solution: Codex would then ignore AGENTS.md, ask before nearly every command, and give calls without
a sandbox `workspace-write`.

The sandbox that applies follows Codex's own rule, applied to the configuration that `config/read` reports:

    the call's `sandbox`  >  default_permissions of the call's config or of -c
                          >  the highest layer with default_permissions or sandbox_mode (the first wins over the second)
                          >  Codex's default, which is read-only unless the user has decided about the folder
"""

from __future__ import annotations

import posixpath
from collections.abc import Mapping, Sequence
from typing import Final

import msgspec
from msgspec import Struct

from codex_mcp.base.errors import BadOverride
from codex_mcp.codex.config.overrides import UNTRUSTED, Config, expanded, merged
from codex_mcp.codex.config.sandbox_profile import DENY, OURS
from codex_mcp.codex.core import ThreadSpec, TurnSettings
from codex_mcp.wire.app.requests import ConfigLayer, Configuration, TurnContext, WorkspacePolicy

READ_ONLY: Final = "read-only"
WORKSPACE_WRITE: Final = "workspace-write"
FULL_ACCESS: Final = "danger-full-access"

MODE: Final = "sandbox_mode"
PROFILE: Final = "default_permissions"
WORKSPACE: Final = "sandbox_workspace_write"

ROOTS: Final = "writable_roots"

PROJECTS: Final = "projects"
ROOT_MARKERS: Final = "project_root_markers"

READ_ONLY_PROFILE: Final = ":read-only"

COMMAND_LINE: Final = "sessionFlags"
"""Codex's name of the layer with its `-c` and a call's config."""


class Grant(Struct, frozen=True):
    """What a thread that was started read-only gets: a sandbox policy, or the id of a permission profile."""

    policy: Mapping[str, object] | None = None
    profile: str | None = None
    entries: Mapping[str, str] = {}
    """Further entries beside the policy, which then becomes a profile (`sandbox_profile`)."""


class Permissions(Struct, frozen=True):
    """The `sandbox` with which a thread starts, and what it is granted afterwards."""

    start: str | None
    grant: Grant | None = None


def refuse_trust(config: Config) -> None:
    """Raise BadOverride if a call's config would make Codex trust a folder that the user has not trusted."""
    tree = expanded(config)
    if ROOT_MARKERS in tree:
        raise BadOverride(
            f"a call cannot set {ROOT_MARKERS}, which decides which folders are trusted; set it in config.toml"
        )
    if not _is_distrust(tree.get(PROJECTS, {})):
        raise BadOverride(
            f'a call cannot make a folder trusted: in {PROJECTS} it can set trust_level = "untrusted", nothing else; '
            "to trust a folder, edit config.toml in Codex's home"
        )


def _is_distrust(projects: object) -> bool:
    if not isinstance(projects, Mapping):
        return False
    return all(value == UNTRUSTED if key == "trust_level" else _is_distrust(value) for key, value in projects.items())


def needs_configuration(spec: ThreadSpec) -> bool:
    """Whether the permissions depend on Codex's configuration."""
    return spec.sandbox not in (READ_ONLY, FULL_ACCESS)


def permissions_for(spec: ThreadSpec, configured: Configuration, home: str) -> Permissions:
    """How to start a thread. `home` replaces `~`."""
    call = expanded(spec.config)
    mode, profile = (spec.sandbox, None) if spec.sandbox is not None else _selected(call, configured.layers or ())
    if profile is not None:
        return Permissions(None) if profile == READ_ONLY_PROFILE else _granted(Grant(profile=profile))
    if mode == FULL_ACCESS:
        return _granted(Grant(policy={"type": "dangerFullAccess"}))
    if mode == WORKSPACE_WRITE:
        workspace = merged(_table(configured.config, WORKSPACE), _table(call, WORKSPACE))
        return _granted(Grant(policy=workspace_policy(workspace, spec.cwd or "/", home)))
    # Read-only, a value that Codex will refuse, or none: Codex's default does not make a folder trusted.
    return Permissions(spec.sandbox)


def with_entries(grant: Grant, spec: ThreadSpec, hidden: Sequence[str]) -> Grant:
    """The grant with the entries of its thread. `hidden`: paths that a thread with network access cannot read.

    Without network nobody can be told what they contain, and hiding them costs time (see `sandbox_profile`).
    """
    policy = grant.policy
    if policy is None or policy.get("type") != "workspaceWrite" or spec.is_remote:
        return grant
    denied = dict.fromkeys(hidden, DENY) if policy.get("networkAccess") is True else {}
    return msgspec.structs.replace(grant, entries={**denied, **spec.entries})


def names_sandbox(spec: ThreadSpec) -> bool:
    """Whether a resumed thread gets a sandbox from its call instead of its last one."""
    return spec.sandbox is not None or not {MODE, PROFILE, WORKSPACE}.isdisjoint(expanded(spec.config))


def spec_after_turn(spec: ThreadSpec, settings: TurnSettings | None) -> ThreadSpec:
    """The settings of a thread after a turn that changed them.

    After a change of the sandbox they name none: a resumed thread gets the one of its last turn.
    """
    if settings is None:
        return spec
    config, sandbox = dict(spec.config), spec.sandbox
    if settings.sandbox_policy is not None:
        sandbox = None
        config = {
            key: value for key, value in config.items() if key.partition(".")[0] not in {MODE, PROFILE, WORKSPACE}
        }
    reasoning = {"model_reasoning_summary": settings.summary, "model_reasoning_effort": settings.effort}
    return msgspec.structs.replace(
        spec,
        cwd=settings.cwd or spec.cwd,
        model=settings.model or spec.model,
        approval_policy=settings.approval_policy or spec.approval_policy,
        sandbox=sandbox,
        config=config | {key: value for key, value in reasoning.items() if value is not None},
    )


def restored(last: TurnContext) -> Grant | None:
    """The grant that gives a resumed thread the sandbox of its last turn; None if Codex restores it.

    Codex restores every sandbox except a `workspace-write` that is not a named profile.
    """
    if last.active_permission_profile is not None and last.active_permission_profile.get("id") != OURS:
        return None
    try:
        policy = msgspec.json.decode(last.sandbox_policy, type=WorkspacePolicy)
    except msgspec.MsgspecError:  # full access and others may have fields of their own
        return None
    if policy.type != WORKSPACE_WRITE:
        return None
    fields = {name: value for name, value in msgspec.structs.asdict(policy).items() if name != "type"}
    return Grant(policy=workspace_policy(fields, "/", ""))


def allows_network(config: Config) -> bool:
    """Whether this configuration gives agents with `workspace-write` network access."""
    return _table(expanded(config), WORKSPACE).get("network_access") is True


def _granted(grant: Grant) -> Permissions:
    return Permissions(READ_ONLY, grant)


def _selected(call: Config, layers: Sequence[ConfigLayer]) -> tuple[object, str | None]:
    """The sandbox mode or the permission profile that applies. A call's config belongs to the command-line layer."""
    active = [layer for layer in layers if layer.disabled_reason is None]
    command_line = merged(*(layer.config for layer in active if layer.name.type == COMMAND_LINE), call)
    if isinstance(command_line.get(PROFILE), str):
        return None, str(command_line[PROFILE])
    ordered = [command_line if layer.name.type == COMMAND_LINE else layer.config for layer in active]
    if command_line not in ordered:  # Codex was started without any -c
        ordered.insert(0, command_line)
    for layer in ordered:
        if isinstance(profile := layer.get(PROFILE), str):
            return None, profile
        if (mode := layer.get(MODE)) is not None:
            return mode, None
    return None, None


def _table(config: Config, name: str) -> Config:
    found = config.get(name)
    return found if isinstance(found, Mapping) else {}


def workspace_policy(table: Config, cwd: str, home: str) -> Mapping[str, object]:
    """The app-server's policy for `workspace-write` with the keys of `sandbox_workspace_write`."""
    roots = table.get(ROOTS)
    return {
        "type": "workspaceWrite",
        "writableRoots": [_absolute(root, cwd, home) for root in roots] if isinstance(roots, list | tuple) else [],
        "networkAccess": table.get("network_access") is True,
        "excludeTmpdirEnvVar": table.get("exclude_tmpdir_env_var") is True,
        "excludeSlashTmp": table.get("exclude_slash_tmp") is True,
    }


def _absolute(root: object, cwd: str, home: str) -> object:
    if not isinstance(root, str):
        return root  # for Codex to refuse
    path = home + root[1:] if root == "~" or root.startswith("~/") else root
    return posixpath.normpath(posixpath.join(cwd, path))
