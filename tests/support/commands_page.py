"""Write the lists of commands in README.md, docs/commands.md and llms.txt from the table of
commands: `make pages`.

What stands between `<!-- commands -->` and `<!-- end -->` is generated.
"""

import re
from pathlib import Path

from codex_mcp.cli.commands import COMMANDS

ROOT = Path(__file__).parents[2]
README = ROOT / "README.md"
PAGE = ROOT / "docs/commands.md"
SECTION = re.compile(r"(<!-- commands -->\n).*?(<!-- end -->)", re.DOTALL)

PAGES = {
    "doctor": "commands.md#doctor",
    "login": "signing-in.md",
    "logout": "signing-in.md",
    "mcp-server": "clients.md",
    "serve": "team.md",
    "exec-server": "exec-server.md",
    "exec": "exec-client.md",
    "rendezvous": "remote.md",
    "environments": "remote.md",
    "config": "settings.md",
    "status": "terminal.md#status",
    "threads": "commands.md#threads",
    "approvals": "terminal.md#approvals",
    "dashboard": "dashboard.md",
    "show": "terminal.md#show",
    "watch": "terminal.md#watch",
    "interrupt": "terminal.md#interrupt-and-close",
    "close": "terminal.md#interrupt-and-close",
    "summary": "commands.md#summary",
    "audit": "commands.md#audit",
    "mail": "mail.md",
    "install": "install.md",
    "uninstall": "install.md#uninstall",
    "migrate": "install.md#migrate",
    "completion": "commands.md#completion",
    "update": "upgrading.md",
    "demo": "demo.md",
}
"""Where each command is described."""


def generated(page: Path) -> str:
    """The page with its list of commands as it should be."""
    rows = [f"| [`{name}`]({_link(page, PAGES[name])}) | {summary} |" for name, summary in COMMANDS.items()]
    table = "\n".join(["| command | what it is for |", "|---|---|", *rows, ""])
    return SECTION.sub(lambda found: found[1] + table + found[2], page.read_text())


def listed() -> str:
    """The commands as llms.txt lists them."""
    return "".join(f"- `codex-mcp {name}`: {summary}\n" for name, summary in COMMANDS.items())


def _link(page: Path, target: str) -> str:
    if page == README:
        return f"docs/{target}"
    return target.removeprefix(page.name) if target.startswith(page.name) else target


if __name__ == "__main__":
    for path in (README, PAGE):
        path.write_text(generated(path))
