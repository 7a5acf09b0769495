"""Pure. The layers of configuration above Codex's config.toml, in their order. The last one wins:

    config.toml (and Codex's own layers)  <  server's profile  <  server's -c  <  call's profile  <  call's config
                                                                                    <  call's own arguments

As in Codex itself, the server's `-c` overrides its `--profile`. Codex's app-server no longer has profiles and does not
start with `approval_policy = "untrusted"` or `profile = …`; both are removed here and passed to each thread in a form
that Codex accepts.
"""

import re
from collections.abc import Iterable, Mapping, Sequence

import msgspec
from msgspec import Struct

from codex_mcp.base.errors import BadOverride, UnknownProfile

Config = Mapping[str, object]
Tree = dict[str, object]

PROFILE_NAME = re.compile(r"[A-Za-z0-9_-]+")
"""A profile's name becomes part of a file name, so it must not contain a path."""

OFF_BY_DEFAULT = ("features.plugins", "features.apps", "analytics.enabled", "feedback.enabled")
"""Off unless the user sets them. When on, Codex contacts github.com, api.github.com and chatgpt.com, whatever its
model; when off, it contacts only the model (measured with 0.163.0 and 0.166.0)."""

GOALS = "features.goals"
SUBAGENTS = "agents.enabled"
"""What switches off what Codex does by itself. On by default."""

MEMORIES = "features.memories"
"""Off unless the server's own `-c` says otherwise. When on, Codex asks the model in the background, as a thread starts,
what to remember of others: outside of every turn, and it reports nothing of the tokens (seen with 0.163.0)."""

UNTRUSTED = "untrusted"
ON_REQUEST = "on-request"

APPROVAL_POLICIES: dict[str, str] = {
    # the caller's policy: Codex's policy
    UNTRUSTED: UNTRUSTED,
    "on-failure": ON_REQUEST,
    ON_REQUEST: ON_REQUEST,
    "never": "never",
}

ON_FAILURE_WARNING = (
    "Codex has no approval policy on-failure any more; on-request is used in its place: "
    "the model asks before it leaves the sandbox, and not only after a command has failed."
)


class ThreadConfig(Struct, frozen=True):
    """The configuration for `thread/start` and `thread/resume`."""

    config: Tree
    """Dotted keys and their values."""
    approval_policy: str | None
    """None leaves it to Codex's own configuration."""
    warnings: tuple[str, ...] = ()
    """Arguments that have only an approximate effect."""


class CoreConfig(Struct, frozen=True):
    """How Codex is started with the server's `-c` and the user's config.toml."""

    overrides: Tree
    """For every thread, below its call's own config. `command_line.visible` selects those for Codex's command line."""
    approval_policy: str | None
    """For every thread without a policy of its own; Codex does not start with this one."""
    profile: str | None
    """The profile of `-c profile=…`."""
    given: Tree
    """The other `-c`, as they were given."""


def parse_override(text: str) -> tuple[str, object]:
    """Split `key=value`. The value is TOML or, as in Codex, plain text without its quotes."""
    key, has_value, value = text.partition("=")
    key = key.strip()
    if not has_value or not key:
        raise BadOverride(f"cannot use the override {text!r}: it must be key=value, such as model=o3 or tools.x=true")
    try:
        return key, msgspec.toml.decode(f"value = {value}", type=Tree)["value"]
    except (msgspec.DecodeError, KeyError):
        return key, value.strip().strip("\"'")


def parse_overrides(texts: Iterable[str]) -> Tree:
    """All of the server's `-c` as one tree; the last value of a key wins."""
    tree: Tree = {}
    for text in texts:
        key, value = parse_override(text)
        _put(tree, key, value)
    return tree


def expanded(layer: Config) -> Tree:
    """The tree of a layer with dotted keys: `a.b`: 1 becomes `a`: {`b`: 1}. Keys inside values are not split."""
    tree: Tree = {}
    for key, value in layer.items():
        _put(tree, key, value)
    return tree


def merged(*layers: Config) -> Tree:
    """Merge layers, the last one on top: tables are merged, other values replaced."""
    result: Tree = {}
    for layer in layers:
        result = _over(result, expanded(layer))
    return result


def flattened(tree: Config) -> Tree:
    """A tree as dotted keys. A table with a dot in one of its keys stays a table.

    Codex's overrides replace whole tables: `{"features": {"x": true}}` would turn the features on again that its
    command line turned off. A dotted key changes only the value that it names.
    """
    result: Tree = {}
    for key, value in tree.items():
        if isinstance(value, Mapping) and value and not any("." in inner for inner in value):
            result.update({f"{key}.{inner}": below for inner, below in flattened(value).items()})
        else:
            result[key] = value
    return result


def profile_layer(name: str, own_file: Config | None, user_config: Config | None) -> Tree:
    """A profile's settings: from `NAME.config.toml`, or else from `[profiles.NAME]` in config.toml, the older form."""
    profiles = (user_config or {}).get("profiles")
    legacy = profiles.get(name) if isinstance(profiles, Mapping) else None
    layer = own_file if own_file is not None else legacy
    if not PROFILE_NAME.fullmatch(name) or not isinstance(layer, Mapping):
        raise UnknownProfile(
            f"Failed to load Codex configuration from overrides: config profile `{name}` not found; "
            f"put its settings into {name}.config.toml in Codex's home, or leave the profile out"
        )
    return {key: value for key, value in layer.items() if key not in ("profile", "profiles")}


def tool_layer(*, include_plan_tool: bool | None = None, compact_prompt: str | None = None) -> Tree:
    """Arguments of the old `codex` tool that are configuration today."""
    layer: Tree = {}
    if include_plan_tool is not None:
        layer["tools.update_plan.enabled"] = include_plan_tool
    if compact_prompt is not None:
        layer["compact_prompt"] = compact_prompt
    return layer


def lift_profile(layer: Config) -> tuple[Tree, str | None]:
    """The layer without `profile`, and the profile that it names."""
    rest = expanded(layer)
    name = rest.pop("profile", None)
    if name is not None and not isinstance(name, str):
        raise BadOverride(f"cannot use profile = {name!r}: it must be the name of a profile")
    return rest, name or None


def thread_config(
    layers: Sequence[Config], *, approval_policy: str | None = None, core_policy: str | None = None
) -> ThreadConfig:
    """The call's `approval_policy` overrides the layers', which overrides the core's."""
    tree = merged(*layers)
    policy: object = tree.get("approval_policy")
    if policy is None or isinstance(policy, str):  # a table (granular) stays in the config, where Codex reads it
        tree.pop("approval_policy", None)
    else:
        core_policy = policy = None
    asked = approval_policy or policy or core_policy
    warnings = (ON_FAILURE_WARNING,) if asked == "on-failure" else ()
    return ThreadConfig(flattened(tree), None if asked is None else mapped_policy(asked), warnings)


def mapped_policy(asked: object) -> str:
    """Codex's approval policy for one that a caller may name."""
    policy = APPROVAL_POLICIES.get(asked) if isinstance(asked, str) else None
    if policy is None:
        allowed = ", ".join(APPROVAL_POLICIES)
        raise BadOverride(f"cannot use approval_policy = {asked!r}: it must be one of {allowed}")
    return policy


def core_config(overrides: Sequence[str], user_config: Config | None) -> CoreConfig:
    """The user's `-c` without values that Codex does not start with, and the features that are off by default."""
    user_config = user_config or {}
    given = parse_overrides(overrides)
    is_untrusted = given.get("approval_policy", user_config.get("approval_policy")) == UNTRUSTED
    off = [key for key in OFF_BY_DEFAULT if not _has(given, key) and not _has(user_config, key)]
    off += [] if _has(given, MEMORIES) else [MEMORIES]
    given, profile = lift_profile(given)
    # Also hides the value in config.toml, with which Codex does not start.
    replaced = {"approval_policy": ON_REQUEST} if is_untrusted else {}
    return CoreConfig(
        overrides=merged(given, replaced, dict.fromkeys(off, False)),
        approval_policy=UNTRUSTED if is_untrusted else None,
        profile=profile,
        given=given,
    )


def of_thread(server: Config, call: Config) -> Config:
    """The call's configuration over the server's, except for what no call changes."""
    if not server:
        return call
    kept = {key: value for key, value in flattened(server).items() if key == MEMORIES}
    return flattened(merged(server, call, kept))


def _put(tree: Tree, key: str, value: object) -> None:
    *folders, name = key.split(".")
    if not all((*folders, name)):
        raise BadOverride(f"cannot use the key {key!r}: it has an empty part; write it as in model or tools.web_search")
    for folder in folders:
        below = tree.get(folder)
        below = dict(below) if isinstance(below, Mapping) else {}
        tree[folder] = below
        tree = below
    tree[name] = value


def _over(lower: Config, upper: Config) -> Tree:
    result = dict(lower)
    for key, value in upper.items():
        below = result.get(key)
        if isinstance(below, Mapping) and isinstance(value, Mapping):
            value = _over(below, value)
        result[key] = value
    return result


def _has(tree: object, key: str) -> bool:
    for part in key.split("."):
        if not isinstance(tree, Mapping) or part not in tree:
            return False
        tree = tree[part]
    return True
