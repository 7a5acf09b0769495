"""Reads Codex's config.toml and its profiles, for settings that Codex's app-server no longer supports.

Also merges the layers of a new thread, which `overrides` describes.
"""

import functools
import os

import msgspec

from codex_mcp.base.errors import BadOverride
from codex_mcp.base.files import read_if_there
from codex_mcp.base.settings.core import CoreSettings
from codex_mcp.codex.config.overrides import (
    PROFILE_NAME,
    Config,
    ThreadConfig,
    Tree,
    core_config,
    lift_profile,
    profile_layer,
    thread_config,
)
from codex_mcp.codex.config.permissions import refuse_trust

SUFFIX = ".config.toml"
"""Of the file of a profile."""

FILES_REMEMBERED = 8
"""config.toml and the profiles in use, which are small."""


def read_user_config(codex_home: str) -> Tree | None:
    """The user's config.toml; None if it is missing or broken, which Codex itself reports better."""
    try:
        return _read_toml(os.path.join(codex_home, "config.toml"))
    except BadOverride:
        return None


def check_user_config(codex_home: str) -> None:
    """Raise BadOverride if the user's config.toml is no TOML. Whether its values are right, only Codex knows."""
    _read_toml(os.path.join(codex_home, "config.toml"))


def read_profile(codex_home: str, name: str) -> Tree:
    """Raises UnknownProfile, or BadOverride if the profile's file cannot be read."""
    own_file: Tree | None = None
    if PROFILE_NAME.fullmatch(name):
        own_file = _read_toml(os.path.join(codex_home, f"{name}{SUFFIX}"))
    return profile_layer(name, own_file, None if own_file is not None else read_user_config(codex_home))


def read_thread_config(
    core: CoreSettings, config: Config, *, profile: str | None, approval_policy: str | None, tools: Config
) -> ThreadConfig:
    """The configuration of a new thread, given that of its call, whose `tools` are further arguments of this kind.

    Raises BadOverride, UnknownProfile, Refused.
    """
    server = core_config(core.overrides, read_user_config(core.codex_home))
    layers: list[Config] = []
    if (named := core.profile or server.profile) is not None:
        # The server's -c override its profile, so they must follow it here although the core was started with them.
        layers += [read_profile(core.codex_home, named), server.given]
    # null means the empty text, as in 0.153.4: TOML has no null.
    config, profile_in_config = lift_profile({key: "" if value is None else value for key, value in config.items()})
    refuse_trust(config)
    if (named := profile or profile_in_config) is not None:
        layers.append(read_profile(core.codex_home, named))
    return thread_config([*layers, config, tools], approval_policy=approval_policy, core_policy=server.approval_policy)


def profile_names(codex_home: str) -> list[str]:
    """The profiles that calls may name: those with a file of their own, and those in config.toml."""
    try:
        files = [name.removesuffix(SUFFIX) for name in os.listdir(codex_home) if name.endswith(SUFFIX)]
    except OSError:
        files = []
    tables = (read_user_config(codex_home) or {}).get("profiles")
    named = [*files, *(tables if isinstance(tables, dict) else ())]
    return sorted({name for name in named if PROFILE_NAME.fullmatch(name)})


def _read_toml(path: str) -> Tree | None:
    try:
        data = read_if_there(path)
        return None if data is None else _decoded(data)
    except OSError as error:
        raise BadOverride(f"cannot read {path}: {error.strerror or error}") from error
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise BadOverride(f"cannot read {path}: {error}; fix the file") from error


@functools.lru_cache(maxsize=FILES_REMEMBERED)
def _decoded(data: bytes) -> Tree:
    """Cached: every new thread needs it, and parsing takes longer than everything else done for a thread."""
    return msgspec.toml.decode(data, type=Tree)
