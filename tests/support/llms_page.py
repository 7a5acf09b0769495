"""Write llms.txt, the index of the documentation for language models, from docs/README.md and the table of
commands: `make pages`.
"""

import re
from pathlib import Path

from tests.support import commands_page

ROOT = Path(__file__).parents[2]
FILE = ROOT / "llms.txt"
INDEX = ROOT / "docs/README.md"

HEAD = """# codex-mcp

> Codex coding agents for every MCP client: a drop-in replacement for `codex mcp-server`, which OpenAI removed from
> Codex 0.154.0. The tools are `codex`, `codex-reply` and `codex_wait`, over stdio, HTTP and WebSocket.

To install it into a client: `codex-mcp install claude` (or codex, cursor, vscode, zed, gemini, desktop, inspector).
To replace dead `codex mcp-server` entries: `codex-mcp migrate`. If something does not work: `codex-mcp doctor`.

- [README](README.md): what it is, the first two commands, the tools
- [Changelog](CHANGELOG.md): what changed
- [Architecture](ARCHITECTURE.md): packages, walks through the code, guarantees
"""


def generated() -> str:
    """The file as it should be: the groups and links of the index, seen from the top folder."""
    groups = re.sub(r"\]\((?!\.\.)", "](docs/", INDEX.read_text()[INDEX.read_text().index("\n## ") :])
    return f"{HEAD}\n## Commands\n\n{commands_page.listed()}{groups}"


if __name__ == "__main__":
    FILE.write_text(generated())
