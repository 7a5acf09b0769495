"""The Claude Code plugin speaks only of tools and commands that exist, and has our version."""

import json
import re
from pathlib import Path

from codex_mcp import __version__
from codex_mcp.cli.clients.known import CLIENTS
from codex_mcp.cli.clients.own_entry import entry
from codex_mcp.cli.commands import COMMANDS
from codex_mcp.mcp.schema.team_catalogue import TEAM_TOOLS

PLUGIN = Path(__file__).parents[1] / "plugin"

PROSE = [*PLUGIN.glob("commands/*.md"), *PLUGIN.glob("skills/*/SKILL.md")]


def quoted(text: str) -> set[str]:
    """What stands between backticks, without values: of `mode: "all"`, mode."""
    return {words.split()[0].rstrip(":") for words in re.findall(r"`([^`]+)`", text)}


def test_its_texts_name_only_tools_and_arguments_that_exist() -> None:
    tools = {tool.name: {field.name for field in tool.fields} for tool in TEAM_TOOLS}
    arguments = set().union(*tools.values())
    others = {"reviewer", "read-only", "workspace-write", "true", "codex-agents", "status", "running", "approvals"}
    named = {path.name: quoted(path.read_text()) for path in PROSE}
    unknown = {name: words - tools.keys() - arguments - others - {"codex-mcp"} for name, words in named.items()}
    assert unknown == {name: set() for name in named}
    needed = {"codex", "codex-reply", "codex_wait", "codex_threads", "codex_close", "codex_approvals", "atm_send"}
    assert needed <= named["SKILL.md"]


def test_every_program_that_it_names_exists() -> None:
    text = "".join(path.read_text() for path in [*PROSE, PLUGIN / "README.md"])
    named = set(re.findall(r"`codex-mcp ([a-z-]+)", text)) | set(re.findall(r"(?m)^codex-mcp ([a-z-]+)", text))
    assert {"doctor", "login"} <= named <= COMMANDS.keys()


def test_it_starts_the_server_as_install_does() -> None:
    servers = json.loads((PLUGIN / ".mcp.json").read_text())["mcpServers"]
    assert servers == {"codex": entry(CLIENTS["claude"], ["codex-mcp", "serve"])}


def test_it_has_our_version() -> None:
    assert json.loads((PLUGIN / ".claude-plugin/plugin.json").read_text())["version"] == __version__


def test_its_readme_lists_its_commands() -> None:
    listed = set(re.findall(r"`/codex-mcp:([a-z]+)", (PLUGIN / "README.md").read_text()))
    assert listed == {path.stem for path in PLUGIN.glob("commands/*.md")}
