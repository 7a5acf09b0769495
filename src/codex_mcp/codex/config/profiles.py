"""Reads Codex's config.toml and its profiles, for settings that Codex's app-server no longer supports."""

import functools
import os

import msgspec

from codex_mcp.base.errors import BadOverride
from codex_mcp.base.files import read_if_there
from codex_mcp.codex.config.overrides import PROFILE_NAME, Tree, profile_layer

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
