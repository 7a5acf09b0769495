"""Pure. Selects the overrides for Codex's command line, which every user of the machine can read.

Every thread gets all overrides over a pipe. The command line has only those that Codex needs before the first thread:
switches, names, and the address of its model. Possible secrets (tokens, headers, variables for commands) are left out.
"""

import json
from collections.abc import Mapping
from typing import Final
from urllib.parse import urlsplit, urlunsplit

from codex_mcp.codex.config.overrides import Config, flattened

NAMES: Final = frozenset(
    {
        "approval_policy",
        "cli_auth_credentials_store",
        "default_permissions",
        "forced_login_method",
        "mcp_oauth_credentials_store",
        "model",
        "model_provider",
        "sandbox_mode",
    }
)
"""Keys whose values are names."""

PATHS: Final = frozenset({"log_dir", "model_catalog_json", "sqlite_home"})

ADDRESSES: Final = frozenset({"chatgpt_base_url", "openai_base_url"})

PROVIDERS: Final = "model_providers"
OF_A_PROVIDER: Final = frozenset(
    {"name", "wire_api", "env_key", "base_url", "request_max_retries", "stream_max_retries", "stream_idle_timeout_ms"}
)
"""Visible fields of a model provider. Since 0.166.0 Codex must know its provider when it starts."""

TELEMETRY: Final = "otel"
PRIVATE_TELEMETRY: Final = frozenset({"headers", "tls"})


def visible_overrides(overrides: Config) -> list[str]:
    """The `key=value` texts for the command line."""
    return [f"{key}={_toml(value)}" for key, value in flattened(overrides).items() if _is_visible(key, value)]


def _is_visible(key: str, value: object) -> bool:
    if isinstance(value, Mapping | list | tuple):
        return False
    if isinstance(value, bool) or key in NAMES | PATHS | ADDRESSES:
        return True
    first, *rest = key.split(".")
    if first == PROVIDERS:
        return len(rest) == 2 and rest[1] in OF_A_PROVIDER
    return first == TELEMETRY and not PRIVATE_TELEMETRY.intersection(rest)


def _toml(value: object) -> str:
    if not isinstance(value, str):
        return json.dumps(value)
    return json.dumps(_without_secrets(value) if "://" in value else value, ensure_ascii=False)


def _without_secrets(address: str) -> str:
    """The address without user, password and query."""
    try:
        parts = urlsplit(address)
    except ValueError:
        return ""
    return urlunsplit((parts.scheme, parts.netloc.rpartition("@")[2], parts.path, "", ""))
