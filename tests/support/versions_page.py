"""Write the tables of docs/tested-versions.md from what CI installs and runs: `make pages`.

The versions come from the lock files and from the code. `TESTED` says what is done with each, and in which tests.
"""

import json
import re
from pathlib import Path
from typing import NamedTuple

from codex_mcp.codex.versions.measured import MEASURED, old_range, shown
from codex_mcp.wire.mcp import REVISIONS, STATELESS_REVISIONS

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs/tested-versions.md"
SECTION = re.compile(r"(<!-- versions -->\n).*?(<!-- end -->)", re.DOTALL)


class Tested(NamedTuple):
    """A program that the tests run, where its version is written down, and what is done with it."""

    name: str
    version: str
    what: str
    tests: str


def npm(package: str) -> str:
    """The version of a client in judges/package-lock.json."""
    locked = json.loads((ROOT / "judges/package-lock.json").read_text())["packages"]
    return str(locked[f"node_modules/{package}"]["version"])


def pypi(package: str, file: str = "lock") -> str:
    """The version of a package in a lock file of requirements/."""
    found = re.search(
        rf"^{re.escape(package)}(?:\[[^]]*\])?==(\S+)", (ROOT / f"requirements/{file}.txt").read_text(), re.MULTILINE
    )
    assert found, f"{package} is not in requirements/{file}.txt"
    return found[1]


def tested() -> list[Tested]:
    """Everything, in the order of the page."""
    return [
        Tested("Claude Code", npm("@anthropic-ai/claude-code"), "stdio, HTTP, teams, `install`, `migrate`", "judges"),
        Tested("Codex as a client", npm("codex-new"), "stdio, HTTP, `install`, `migrate`", "judges"),
        Tested("MCP Inspector", npm("@modelcontextprotocol/inspector"), "stdio, HTTP, `install`, `migrate`", "judges"),
        Tested("Gemini CLI", npm("@google/gemini-cli"), "stdio, HTTP", "judges"),
        Tested("opencode", npm("opencode-linux-x64"), "stdio, HTTP", "judges"),
        Tested("Copilot CLI", npm("@github/copilot"), "stdio, HTTP", "judges"),
        Tested("Qwen Code", npm("@qwen-code/qwen-code"), "stdio, HTTP", "judges"),
        Tested("Cline CLI", npm("@cline/cli-linux-x64"), "stdio, HTTP", "judges"),
        Tested("OpenAI Agents SDK", pypi("openai-agents", "frameworks"), "stdio, HTTP", "judges"),
        Tested("Google ADK", pypi("google-adk", "frameworks"), "stdio, HTTP", "judges"),
        Tested("Pydantic AI", pypi("pydantic-ai-slim", "frameworks"), "stdio, HTTP", "judges"),
        Tested("FastMCP's client", pypi("fastmcp-slim", "frameworks"), "stdio, HTTP", "judges"),
        Tested("AutoGen", pypi("autogen-ext", "mcp1"), "stdio, HTTP", "judges"),
        Tested("LangChain adapters", pypi("langchain-mcp-adapters", "mcp1"), "HTTP", "judges"),
        Tested("Python SDK", f"{pypi('mcp')}, {pypi('mcp', 'mcp1')}", "stdio, HTTP", "acceptance, judges"),
        Tested(
            "TypeScript SDK",
            f"{npm('@modelcontextprotocol/client')}, {npm('@modelcontextprotocol/sdk')}",
            "stdio, HTTP",
            "judges",
        ),
        Tested("MCP conformance suite", npm("@modelcontextprotocol/conformance"), "both eras, HTTP", "judges"),
        Tested("Codex as the core", pypi("openai-codex-cli-bin"), "everything", "acceptance"),
        Tested("Codex as the core", npm("codex-new"), "self-test, team, threads, trust, exec-server", "judges"),
        Tested("old Codex as the core", npm("codex-old"), "tools, approvals, teams", "judges"),
        Tested("Codex's exec-server", npm("codex-new"), "our client with it, its Codex with ours", "judges"),
    ]


def generated(page: str) -> str:
    """The page with its tables as they should be."""
    rows = [f"| {one.name} | {one.version} | {one.what} | {_folders(one.tests)} |" for one in tested()]
    lines = [
        "| program | version | tested | tests |",
        "|---|---|---|---|",
        *rows,
        "",
        "| Codex as the core | tests that ran with it (`make codex VERSION=…`) | exceptions |",
        "|---|---|---|",
        *(f"| {shown(row.version)} | {row.ran} | {'; '.join(row.exceptions)} |" for row in MEASURED),
        "",
        "| | accepted |",
        "|---|---|",
        f"| old Codex as the core (`backend`) | {old_range()} |",
        f"| MCP with a handshake | {', '.join(REVISIONS)} |",
        f"| MCP without a handshake | {', '.join(STATELESS_REVISIONS)} |",
        f"| Python | {_pythons()} |",
        "",
    ]
    return SECTION.sub(lambda found: found[1] + "\n".join(lines) + found[2], page)


def _folders(names: str) -> str:
    return ", ".join(f"`tests/{name}`" for name in names.split(", "))


def _pythons() -> str:
    found = re.findall(r"Python :: (3\.\d+)\"", (ROOT / "pyproject.toml").read_text())
    return ", ".join(found)


if __name__ == "__main__":
    PAGE.write_text(generated(PAGE.read_text()))
