"""The model provider that config.toml names: its key, and whether something answers at its address."""

from __future__ import annotations

import socket
from collections.abc import Mapping
from typing import Final
from urllib.parse import urlsplit

from codex_mcp.access.loopback import is_loopback
from codex_mcp.cli.doctor import facts
from codex_mcp.codex.config.profiles import read_user_config

PATIENCE: Final = 3.0
"""Seconds for the connection."""

BUILT_IN: Final = {"ollama": "http://localhost:11434/v1", "lmstudio": "http://localhost:1234/v1"}
"""Addresses of providers that Codex knows without a description."""

PROXIES: Final = ("HTTPS_PROXY", "https_proxy", "ALL_PROXY", "all_proxy")


def configured_provider(codex_home: str, environment: Mapping[str, str]) -> facts.Provider | None:
    config = read_user_config(codex_home) or {}
    name, providers = config.get("model_provider"), config.get("model_providers")
    if not isinstance(name, str):
        return None
    described = providers.get(name) if isinstance(providers, Mapping) else None
    about = described if isinstance(described, Mapping) else {}
    key = about.get("env_key")
    url = about.get("base_url", BUILT_IN.get(name))
    return facts.Provider(
        name,
        env_key=key if isinstance(key, str) else "",
        is_key_set=not isinstance(key, str) or bool(environment.get(key)),
        url=url if isinstance(url, str) else "",
        is_local=isinstance(url, str) and is_loopback(_host(url)),
        silence=_silence(url, environment) if isinstance(url, str) else "",
    )


def _host(url: str) -> str:
    try:
        return urlsplit(url).hostname or ""
    except ValueError:
        return ""


def _silence(url: str, environment: Mapping[str, str]) -> str:
    """Why nobody can be reached there. Behind a proxy, a direct connection says nothing."""
    try:
        address = urlsplit(url)
        host, port = address.hostname or "", address.port or (443 if address.scheme == "https" else 80)
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
