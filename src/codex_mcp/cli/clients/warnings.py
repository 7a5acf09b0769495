"""What may keep an entry from working although it is right: no such client here, no sign-in, a path of one person."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from typing import Final

from codex_mcp.base.errors import BadOverride
from codex_mcp.base.processes.programs import on_path
from codex_mcp.cli.clients.known import Client, Folders, Place, Scope, filled, place
from codex_mcp.cli.clients.own_entry import Program, Wanted
from codex_mcp.cli.clients.surroundings import short
from codex_mcp.codex.config.profiles import check_user_config, read_user_config
from codex_mcp.config.load import likely_codex_home

ELSEWHERE: Final = ("model_provider", "profile", "cli_auth_credentials_store")
"""Keys of config.toml with which agents may need no sign-in in `auth.json`."""


def is_here(client: Client, where: Folders, environment: Mapping[str, str]) -> bool:
    """Whether the client seems to be on this machine."""
    file = place(client, Scope.USER, where).file
    there = filled(client.folder, where) or os.path.dirname(file) if client.has_window else file
    return os.path.exists(there) or (
        client.program != "" and on_path(client.program, environment.get("PATH", "")) is not None
    )


def about(here: Place, wanted: Wanted, where: Folders, environment: Mapping[str, str]) -> Iterator[str]:
    """To be asked before the client's file is written."""
    can_be_seen = here.client.program != "" or here.client.has_window
    if can_be_seen and not is_here(here.client, where, environment):
        yield (
            f"{here.client.title} does not seem to be on this machine: there is neither its file nor its program"
            f"{f' {here.client.program} on PATH' if here.client.program else ''}"
        )
    if not isinstance(wanted, Program):
        return
    if here.scope is Scope.PROJECT and wanted.words[0].startswith(f"{where.home}/"):
        yield (
            f"the project's file names {short(wanted.words[0], where.home)}, which only you have; for everyone who "
            "works here, add --command codex-mcp (if it is on their PATH) or --command 'uvx codex-mcp'"
        )
    codex_home = likely_codex_home(None, environment)
    try:
        check_user_config(codex_home)
    except BadOverride as exc:
        yield str(exc)  # first: nothing starts, and it may say how agents sign in
        return
    if _needs_sign_in(codex_home):
        yield "you are not signed in to OpenAI: run codex-mcp login, or name another model provider in config.toml"


def _needs_sign_in(codex_home: str) -> bool:
    """As far as files show. `doctor` asks Codex."""
    if os.path.exists(os.path.join(codex_home, "auth.json")):
        return False
    config = read_user_config(codex_home) or {}
    return not any(key in config for key in ELSEWHERE)
