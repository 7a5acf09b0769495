"""Pure. The address of a model provider, as Codex's configuration names it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final
from urllib.parse import urlsplit

from codex_mcp.access.loopback import is_loopback

BUILT_IN: Final = {"ollama": "http://localhost:11434/v1", "lmstudio": "http://localhost:1234/v1"}
"""Addresses of providers that Codex knows without a description."""


def described(config: Mapping[str, object], name: str) -> Mapping[str, object]:
    """What a configuration says of a provider."""
    providers = config.get("model_providers")
    found = providers.get(name) if isinstance(providers, Mapping) else None
    return found if isinstance(found, Mapping) else {}


def provider_address(config: Mapping[str, object], name: str) -> str:
    """Empty if it names none."""
    url = described(config, name).get("base_url") or BUILT_IN.get(name)
    return url if isinstance(url, str) else ""


def host_and_port(url: str) -> tuple[str, int]:
    """Raises ValueError if a part of it cannot be read; the host may be empty."""
    address = urlsplit(url)
    return address.hostname or "", address.port or (443 if address.scheme == "https" else 80)


def is_local(url: str) -> bool:
    """Whether a program of this machine is meant to answer there."""
    try:
        return is_loopback(host_and_port(url)[0])
    except ValueError:
        return False


def shown(url: str) -> str:
    """Without its user, password and query, which may be secrets."""
    try:
        address = urlsplit(url)
    except ValueError:
        return ""
    return address._replace(netloc=address.netloc.rpartition("@")[2], query="", fragment="").geturl()
