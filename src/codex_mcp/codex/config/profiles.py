"""Reads Codex's own config.toml and its profiles. Codex reads them too: this is for what its app-server cannot do."""

import functools
import os

import msgspec

from codex_mcp.base.errors import BadOverride
from codex_mcp.base.files import read_if_there
from codex_mcp.codex.config.overrides import PROFILE_NAME, Tree, profile_layer

FILES_REMEMBERED = 8
"""config.toml and the profiles that are in use; they are small."""


def read_user_config(codex_home: str) -> Tree | None:
    """The user's config.toml; None if there is none or it is broken: Codex itself says best what is wrong with it."""
    try:
        return _read_toml(os.path.join(codex_home, "config.toml"))
    except BadOverride:
        return None


def read_profile(codex_home: str, name: str) -> Tree:
    """The settings of a profile. Raises UnknownProfile; BadOverride if its file cannot be read."""
    own_file: Tree | None = None
    if PROFILE_NAME.fullmatch(name):
        own_file = _read_toml(os.path.join(codex_home, f"{name}.config.toml"))
    return profile_layer(name, own_file, None if own_file is not None else read_user_config(codex_home))


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
    """Every new thread asks, and parsing takes longer than all else that we do for it. Nobody changes the answer."""
    return msgspec.toml.decode(data, type=Tree)
