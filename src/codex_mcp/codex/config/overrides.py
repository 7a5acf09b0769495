"""Pure. What is laid over Codex's config.toml, by whom, and in which order. The later one wins:

    config.toml (and Codex's own layers)  <  server's profile  <  server's -c  <  call's profile  <  call's config
                                                                                    <  call's own arguments

Within the server it is Codex's own order: its `-c` beats its `--profile`. Codex's app-server has no profiles any more
and does not start with `approval_policy = "untrusted"` or `profile = …`; both are lifted out here and given to it
in the way that it still takes.
"""

import re
from collections.abc import Iterable, Mapping, Sequence

import msgspec
from msgspec import Struct

from codex_mcp.base.errors import BadOverride, UnknownProfile

Config = Mapping[str, object]
Tree = dict[str, object]

PROFILE_NAME = re.compile(r"[A-Za-z0-9_-]+")
"""A profile's name becomes part of a file name: it must not lead out of Codex's home."""

OFF_BY_DEFAULT = ("features.plugins", "features.apps", "analytics.enabled", "feedback.enabled")
"""Switched off unless the user sets them: with them Codex calls github.com, api.github.com and chatgpt.com by itself,
even when its model is elsewhere; without them it calls the model only (measured with 0.163.0 and 0.166.0)."""

UNTRUSTED = "untrusted"
ON_REQUEST = "on-request"

APPROVAL_POLICIES: dict[str, str] = {
    # what callers say   what Codex is told
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
    """What `thread/start` and `thread/resume` are given."""

    config: Tree
    """Dotted keys and their values."""

    approval_policy: str | None
    """None: Codex decides by its own configuration."""

    warnings: tuple[str, ...] = ()
    """What the caller asked for and gets only approximately."""


class CoreConfig(Struct, frozen=True):
    """How Codex is started with the server's `-c` and the user's config.toml."""

    overrides: Tree
    """What every thread is given, below what its call says. Codex itself gets what codex/command_line.py shows."""

    approval_policy: str | None
    """What every thread must be given that says nothing else: the core could not be told."""

    profile: str | None
    """A profile that was asked for by `-c profile=…`."""


def parse_override(text: str) -> tuple[str, object]:
    """Split one `key=value`. The value is TOML, or else the text itself without quotes around it, as Codex does."""
    key, has_value, value = text.partition("=")
    key = key.strip()
    if not has_value or not key:
        raise BadOverride(f"cannot use the override {text!r}: it must be key=value, such as model=o3 or tools.x=true")
    try:
        return key, msgspec.toml.decode(f"value = {value}", type=Tree)["value"]
    except (msgspec.DecodeError, KeyError):
        return key, value.strip().strip("\"'")


def parse_overrides(texts: Iterable[str]) -> Tree:
    """All of the server's `-c`, as one tree; of two for the same key the later one holds."""
    tree: Tree = {}
    for text in texts:
        key, value = parse_override(text)
        _put(tree, key, value)
    return tree


def expanded(layer: Config) -> Tree:
    """A layer whose keys may be dotted (`a.b`: 1), as a tree (`a`: {`b`: 1}). Keys inside of values stay."""
    tree: Tree = {}
    for key, value in layer.items():
        _put(tree, key, value)
    return tree


def merged(*layers: Config) -> Tree:
    """The layers over each other: tables are merged, everything else is replaced."""
    result: Tree = {}
    for layer in layers:
        result = _over(result, expanded(layer))
    return result


def flattened(tree: Config) -> Tree:
    """A tree with dotted keys. A table of which a key has a dot itself cannot be written so, and stays a table.

    Codex replaces whole tables in its overrides, so that `{"features": {"x": true}}` would bring back all the other
    features that were switched off on its command line; dotted keys touch what they name and nothing else.
    """
    result: Tree = {}
    for key, value in tree.items():
        if isinstance(value, Mapping) and value and not any("." in inner for inner in value):
            result.update({f"{key}.{inner}": below for inner, below in flattened(value).items()})
        else:
            result[key] = value
    return result


def profile_layer(name: str, own_file: Config | None, user_config: Config | None) -> Tree:
    """A profile's settings: from `NAME.config.toml`, else from `[profiles.NAME]` of config.toml, as it was before."""
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
    """What a thread is given. The call's own `approval_policy` wins over the layers', and that over the core's."""
    tree = merged(*layers)
    policy: object = tree.get("approval_policy")
    if policy is None or isinstance(policy, str):  # a table (granular) stays where it is: Codex takes it there
        tree.pop("approval_policy", None)
    else:
        core_policy = policy = None
    asked = approval_policy or policy or core_policy
    warnings = (ON_FAILURE_WARNING,) if asked == "on-failure" else ()
    return ThreadConfig(flattened(tree), None if asked is None else mapped_policy(asked), warnings)


def mapped_policy(asked: object) -> str:
    """The approval policy that Codex is told, for one that a caller may ask for."""
    policy = APPROVAL_POLICIES.get(asked) if isinstance(asked, str) else None
    if policy is None:
        allowed = ", ".join(APPROVAL_POLICIES)
        raise BadOverride(f"cannot use approval_policy = {asked!r}: it must be one of {allowed}")
    return policy


def core_config(overrides: Sequence[str], user_config: Config | None) -> CoreConfig:
    """The user's `-c` without what would kill Codex, and what we switch off."""
    user_config = user_config or {}
    given = parse_overrides(overrides)
    is_untrusted = given.get("approval_policy", user_config.get("approval_policy")) == UNTRUSTED
    off = [key for key in OFF_BY_DEFAULT if not _has(given, key) and not _has(user_config, key)]
    rest, profile = lift_profile(given)
    if is_untrusted:
        rest["approval_policy"] = ON_REQUEST  # also hides the one in config.toml, of which it would die
    return CoreConfig(
        overrides=merged(rest, dict.fromkeys(off, False)),
        approval_policy=UNTRUSTED if is_untrusted else None,
        profile=profile,
    )


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
