"""What an executor registers with: the first of these that exists.

--use-agent-identity-auth       an assertion made from the Agent Identity in CODEX_ACCESS_TOKEN, and nothing else
--token-file                    a token for a rendezvous of ours
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

from codex_mcp.access.token_files import read_token_file
from codex_mcp.base.errors import Refused
from codex_mcp.base.files import read_if_there
from codex_mcp.relay.registry_client import Headers, bearer

VARIABLES: Final = ("CODEX_MCP_RENDEZVOUS_TOKEN", "CODEX_API_KEY")


class _Tokens(Struct, frozen=True):
    access_token: str | None = None
    account_id: str | None = None


class _SignIn(Struct, frozen=True):
    tokens: _Tokens | None = None


def registry_proof(path: str | None, environment: Mapping[str, str], *, is_agent: bool = False) -> Headers:
    """Raises Refused if there is none."""
    if is_agent:
        if path is not None:
            raise Refused("cannot use --token-file with --use-agent-identity-auth: give one of them")
        from codex_mcp.execserver.remote.agent_task import agent_headers  # noqa: PLC0415  PyJWT takes long to load

        return agent_headers(environment)
    if path is not None:
        return bearer(read_token_file(path))
    for name in VARIABLES:
        if environment.get(name):
            return bearer(environment[name])
    home = environment.get("CODEX_HOME") or os.path.join(environment.get("HOME") or "/", ".codex")
    tokens = _signed_in(os.path.join(home, "auth.json"))
    if tokens is None or not tokens.access_token:
        raise Refused("cannot register without a token: give --token-file, set CODEX_API_KEY, or run codex login")
    account = {"ChatGPT-Account-ID": tokens.account_id} if tokens.account_id else {}
    headers = {**bearer(tokens.access_token)(), **account}
    return lambda: headers


def _signed_in(path: str) -> _Tokens | None:
    try:
        found = msgspec.json.decode(read_if_there(path) or b"{}", type=_SignIn)
    except (OSError, msgspec.MsgspecError) as exc:
        raise Refused(f"cannot read the sign-in in {path}: {exc}; run codex login again") from exc
    return found.tokens
