"""Write the list of commands in docs/commands.md from the table of commands: `make pages`.

What stands between `<!-- commands -->` and `<!-- end -->` is generated.
"""

import re
from pathlib import Path

from codex_mcp.cli.commands import COMMANDS

ROOT = Path(__file__).parents[2]
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
    "attach": "attach.md",
    "interrupt": "terminal.md#interrupt-and-close",
    "close": "terminal.md#interrupt-and-close",
    "summary": "commands.md#summary",
    "audit": "commands.md#audit",
    "state": "commands.md#state",
    "mail": "mail.md",
    "install": "install.md",
    "uninstall": "install.md#uninstall",
    "migrate": "install.md#migrate",
    "completion": "commands.md#completion",
    "update": "upgrading.md",
    "demo": "demo.md",
}
"""Where each command is described."""


def generated() -> str:
    """The page with its list of commands as it should be."""
    rows = [f"| [`{name}`]({PAGES[name].removeprefix(PAGE.name)}) | {summary} |" for name, summary in COMMANDS.items()]
    table = "\n".join(["| command | what it is for |", "|---|---|", *rows, ""])
    return SECTION.sub(lambda found: found[1] + table + found[2], PAGE.read_text())


def listed() -> str:
    """The commands as llms.txt lists them."""
    return "".join(f"- `codex-mcp {name}`: {summary}\n" for name, summary in COMMANDS.items())


if __name__ == "__main__":
    PAGE.write_text(generated())
