"""The token with which an executor registers: the first of these that exists.

--token-file                    for a rendezvous of ours
CODEX_MCP_RENDEZVOUS_TOKEN      the same, as a variable
CODEX_API_KEY                   as Codex's own executor uses it
$CODEX_HOME/auth.json           the ChatGPT sign-in that `codex login` made
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Final

import msgspec
from msgspec import Struct

from codex_mcp.base.errors import Refused
from codex_mcp.base.files import read_if_there

VARIABLES: Final = ("CODEX_MCP_RENDEZVOUS_TOKEN", "CODEX_API_KEY")


class _Tokens(Struct, frozen=True):
    access_token: str | None = None


class _SignIn(Struct, frozen=True):
    tokens: _Tokens | None = None


def registry_token(path: str | None, environment: Mapping[str, str]) -> str:
    """Raises Refused if there is none."""
    if path is not None:
        return _from_file(path)
    for name in VARIABLES:
        if environment.get(name):
            return environment[name]
    home = environment.get("CODEX_HOME") or os.path.join(environment.get("HOME") or "/", ".codex")
    token = _signed_in(os.path.join(home, "auth.json"))
    if token is None:
        raise Refused("cannot register without a token: give --token-file, set CODEX_API_KEY, or run codex login")
    return token


def _from_file(path: str) -> str:
    try:
        token = (read_if_there(path) or b"").decode().strip()
    except OSError as exc:
        raise Refused(f"cannot read the token file {path}: {exc.strerror}") from exc
    except UnicodeDecodeError as exc:
        raise Refused(f"cannot read the token file {path}: it is not UTF-8") from exc
    if not token:
        raise Refused(f"cannot use the token file {path}: it is missing or empty")
    return token


def _signed_in(path: str) -> str | None:
    try:
        found = msgspec.json.decode(read_if_there(path) or b"{}", type=_SignIn)
    except (OSError, msgspec.MsgspecError) as exc:
        raise Refused(f"cannot read the sign-in in {path}: {exc}; run codex login again") from exc
    return found.tokens.access_token if found.tokens is not None else None
