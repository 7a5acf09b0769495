"""The model provider that config.toml names: its key, and whether something answers at its address."""

from __future__ import annotations

import socket
from collections.abc import Mapping
from typing import Final

from codex_mcp.access.loopback import is_loopback
from codex_mcp.cli.doctor import facts
from codex_mcp.codex.config import providers
from codex_mcp.codex.config.profiles import read_user_config

PATIENCE: Final = 3.0
"""Seconds for the connection."""

PROXIES: Final = ("HTTPS_PROXY", "https_proxy", "ALL_PROXY", "all_proxy")


def configured_provider(codex_home: str, environment: Mapping[str, str]) -> facts.Provider | None:
    config = read_user_config(codex_home) or {}
    name = config.get("model_provider")
    if not isinstance(name, str):
        return None
    about, url = providers.described(config, name), providers.provider_address(config, name)
    key = about.get("env_key")
    return facts.Provider(
        name,
        env_key=key if isinstance(key, str) else "",
        is_key_set=not isinstance(key, str) or bool(environment.get(key)),
        url=url,
        is_local=providers.is_local(url),
        silence=_silence(url, environment) if url else "",
    )


def _silence(url: str, environment: Mapping[str, str]) -> str:
    """Why nobody can be reached there. Behind a proxy, a direct connection says nothing."""
    try:
        host, port = providers.host_and_port(url)
    except ValueError as exc:
        return str(exc)
    if not host:
        return "it has no host"
    if not is_loopback(host) and any(environment.get(name) for name in PROXIES):
        return ""
    try:
        with socket.create_connection((host, port), PATIENCE):
            return ""
    except OSError as exc:
        return exc.strerror or str(exc)
