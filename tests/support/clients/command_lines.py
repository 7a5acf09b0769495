"""Real clients on the command line whose models are scripted: how each is configured and started, headless."""

from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import msgspec

from codex_mcp.cli.clients.known import CLIENTS as KNOWN
from codex_mcp.cli.clients.own_entry import entry, entry_of_url, token_fields, variable_fields
from tests.support.clients.chat_model import ChatModel
from tests.support.clients.judges import judge, node, package
from tests.support.http.raw_http import TOKEN
from tests.support.servers.mcp_server import Json, Setup

NOT_OUTSIDE = {"HTTPS_PROXY": "http://127.0.0.1:9", "NO_PROXY": "127.0.0.1", "TERM": "dumb"}
"""Whatever would leave this machine ends at a port where nobody listens."""

PROMPT = "Let Codex work."

TOKEN_VARIABLE = "CODEX_MCP_TOKEN"

WITH_TOKEN = {TOKEN_VARIABLE: TOKEN}
"""The environment of a client over HTTP."""


class Started(NamedTuple):
    """How to start a client."""

    argv: list[str]
    environment: dict[str, str]


Client = Callable[[Json, ChatModel, Path], Started]
"""From an entry as `install` writes it, the model and the home folder."""


def gemini(server: Json, model: ChatModel, home: Path) -> Started:
    _write(
        home / ".gemini/settings.json",
        {
            "mcpServers": {"codex": {**server, "trust": True}},
            "security": {"auth": {"selectedType": "gemini-api-key"}, "folderTrust": {"enabled": False}},
            "privacy": {"usageStatisticsEnabled": False},
        },
    )
    environment = {"GEMINI_API_KEY": "none", "GOOGLE_GEMINI_BASE_URL": model.base_url}
    return Started([node(), judge("gemini"), "-m", "gemini-2.5-pro", "-y", "-p", PROMPT], environment)


def opencode(server: Json, model: ChatModel, home: Path) -> Started:
    provider = {
        "npm": "@ai-sdk/openai-compatible",
        "options": {"baseURL": f"{model.base_url}/v1", "apiKey": "none"},
        "models": {"scripted": {"name": "scripted"}},
    }
    _write(
        home / ".config/opencode/opencode.json",
        {
            "mcp": {"codex": server},
            "provider": {"scripted": provider},
            "model": "scripted/scripted",
            "autoupdate": False,
            "share": "disabled",
        },
    )
    off = ("AUTOUPDATE", "MODELS_FETCH", "LSP_DOWNLOAD", "DEFAULT_PLUGINS")
    argv = [str(package("opencode-linux-x64") / "bin/opencode"), "run", PROMPT]
    return Started(argv, {f"OPENCODE_DISABLE_{what}": "1" for what in off})


def copilot(server: Json, model: ChatModel, home: Path) -> Started:
    _write(home / ".copilot/mcp-config.json", {"mcpServers": {"codex": server}})
    environment = {
        "COPILOT_OFFLINE": "true",
        "COPILOT_AUTO_UPDATE": "false",
        "COPILOT_PROVIDER_BASE_URL": f"{model.base_url}/v1",
        "COPILOT_PROVIDER_TYPE": "openai",
        "COPILOT_PROVIDER_API_KEY": "none",
        "COPILOT_MODEL": "scripted",
    }
    return Started([node(), judge("copilot"), "-p", PROMPT, "--allow-all-tools", "--no-color"], environment)


def qwen(server: Json, model: ChatModel, home: Path) -> Started:
    _write(
        home / ".qwen/settings.json",
        {
            "mcpServers": {"codex": {**server, "trust": True}},
            "security": {"auth": {"selectedType": "openai"}, "folderTrust": {"enabled": False}},
            "privacy": {"usageStatisticsEnabled": False},
            "general": {"enableAutoUpdate": False},
        },
    )
    environment = {"OPENAI_API_KEY": "none", "OPENAI_BASE_URL": f"{model.base_url}/v1", "OPENAI_MODEL": "scripted"}
    return Started([node(), judge("qwen"), "--yolo", PROMPT], environment)


def cline(server: Json, model: ChatModel, home: Path) -> Started:
    _write(home / ".cline/data/settings/cline_mcp_settings.json", {"mcpServers": {"codex": server}})
    provider = {
        "provider": "openai-compatible",
        "apiKey": "none",
        "model": "scripted",
        "baseUrl": f"{model.base_url}/v1",
    }
    _write(
        home / ".cline/data/settings/providers.json",
        {
            "version": 1,
            "lastUsedProvider": "openai-compatible",
            "providers": {
                "openai-compatible": {
                    "settings": provider,
                    "updatedAt": "2026-01-01T00:00:00.000Z",
                    "tokenSource": "manual",
                }
            },
        },
    )
    argv = [
        str(package("@cline/cli-linux-x64") / "bin/cline"),
        "--provider",
        "openai-compatible",
        "--model",
        "scripted",
        PROMPT,
    ]
    return Started(argv, {"CLINE_SESSION_BACKEND_MODE": "local", "CLINE_NO_AUTO_UPDATE": "1"})


CLIENTS: dict[str, Client] = {
    "gemini": gemini,
    "opencode": opencode,
    "copilot": copilot,
    "qwen": qwen,
    "cline": cline,
}


def entry_on_stdio(client: str, setup: Setup) -> Json:
    """What `install` writes, with the variables of the test."""
    known = KNOWN[client]
    return {**entry(known, setup.argv()), known.shape.env: setup.env()}


def entry_over_http(client: str, port: int) -> Json:
    """What `install` writes with `--token-env`; into a file without variables, the token itself."""
    known = KNOWN[client]
    token = variable_fields(known, TOKEN_VARIABLE) if known.variable else token_fields(known, TOKEN)
    return {**entry_of_url(known, f"http://127.0.0.1:{port}/mcp"), **token}


def _write(file: Path, values: Json) -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_bytes(msgspec.json.encode(values))
