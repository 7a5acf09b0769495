"""docs/claude-code.svg: install into Claude Code, ask for an agent, approve what it asks. `make picture` draws it.

Claude Code, Codex and codex-mcp are real; scripts play their models. Claude Code's banner, what moves on its screen,
and the name of a backup are left out.
"""

import asyncio
import json
import subprocess
import sys
import tempfile
from pathlib import Path

from codex_mcp.scripted_model.load import load_script
from codex_mcp.scripted_model.server import ScriptedModel
from tests.support.clients.anthropic_model import AnthropicModel, Say, Use, Used
from tests.support.clients.claude_code import NOT_OUTSIDE, codex
from tests.support.clients.judges import ROOT, judge
from tests.support.drawing import drawn
from tests.support.processes import all_ended, end_all
from tests.support.screen import BRIGHT, PLAIN, Cell, Row, Style, rows_of, text_of
from tests.support.servers.mcp_server import Setup
from tests.support.servers.terminal import Terminal

FILE = ROOT / "docs/claude-code.svg"
COLUMNS = 96
SAYS = "Claude Code gives work to Codex, and shows what Codex asks before it writes a file"

INSTALL = "codex-mcp install claude --team"
BACKUP = "The file as it was before"
TASK = "Ask Codex to write NOTES.md. Call the agent writer."
DONE = "The agent writer has written NOTES.md."
FIRST_OF_DIALOG = "MCP server"
LAST_OF_DIALOG = "Esc to cancel"
SELECTED = ("❯   Reason", "❯ Accept")
"""Its second field, and the button behind it."""
DOWN, ENTER = "\x1b[B", "\r"

KNOWN = {"hasCompletedOnboarding": True, "theme": "dark", "customApiKeyResponses": {"approved": ["none"]}}
"""What Claude Code has asked its person before."""


async def plan(used: list[Used]) -> Say | Use:
    asks = {"sandbox": "read-only", "approval-policy": "on-request"}
    return Say(DONE) if used else codex("Write NOTES.md.", identity="writer", **asks)


async def recorded() -> list[Row]:
    """The lines that the picture has."""
    with tempfile.TemporaryDirectory() as folder:
        async with ScriptedModel(load_script(ROOT / "examples/script.toml")) as model, AnthropicModel(plan) as claudes:
            setup = Setup(Path(folder))
            setup.make()
            (setup.codex_home / "config.toml").write_text("".join(f"{line}\n" for line in model.codex_overrides()))
            (setup.codex_home / "auth.json").write_text("{}")  # as after a sign-in, of which `install` would speak
            project = {"hasTrustDialogAccepted": True, "hasCompletedProjectOnboarding": True}
            known = {**KNOWN, "projects": {str(setup.work): project}}
            (setup.home / ".claude.json").write_text(json.dumps(known, indent=2))
            programs = f"{Path(sys.executable).parent}:{Path(judge('claude')).parent}"
            environment = setup.env() | NOT_OUTSIDE | {"ANTHROPIC_BASE_URL": claudes.base_url}
            environment["PATH"] = f"{programs}:{environment['PATH']}"
            installed = await asyncio.to_thread(
                subprocess.run, INSTALL.split(), env=environment, cwd=setup.work, capture_output=True, check=True
            )
            (setup.codex_home / "auth.json").unlink()
            try:
                asking, ended = await asyncio.to_thread(_at_the_terminal, environment, setup.work)
            finally:
                end_all(setup.home)
                await all_ended(setup.home)
    said = rows_of(installed.stdout.decode().replace("\n", "\r\n"))
    said = [row for row in said if row and not text_of(row).startswith(BACKUP)]
    told = [*_entered(INSTALL), *said, *_entered("claude"), []]
    dialog = _part(asking, FIRST_OF_DIALOG, LAST_OF_DIALOG)
    return [*told, *_part(asking, TASK, TASK), [], *dialog, [], *_part(ended, DONE, DONE)]


def _at_the_terminal(environment: dict[str, str], work: Path) -> tuple[list[Row], list[Row]]:
    """What is on the screen while Claude Code asks, and at the end."""
    there = ["/bin/sh", "-c", 'cd "$0" && exec "$@"', str(work), "claude", TASK, "--allowedTools", "mcp__codex"]
    with Terminal(there, environment, COLUMNS) as terminal:

        def screen(until: str) -> list[Row]:
            """What stands there once this does; a text may be drawn in pieces."""
            terminal.wait_until(lambda: any(until in text_of(row) for row in now()), until)
            return now()

        def now() -> list[Row]:
            return rows_of(terminal.shown.replace(str(work), "~/shop"), COLUMNS)

        def pressed() -> bool:
            """Press Enter, unless the dialog is gone. It takes no answer in its first moments."""
            is_asking = any(LAST_OF_DIALOG in text_of(row) for row in now())
            if is_asking:
                terminal.type(ENTER)
            return is_asking

        asking = screen(LAST_OF_DIALOG)
        for selected in SELECTED:
            terminal.type(DOWN)
            screen(selected)
        terminal.wait_until(lambda: not pressed(), DONE)
        return asking, screen(DONE)


def _entered(line: str) -> list[Row]:
    bold = Style(looks=frozenset({"bold"}))
    return [[Cell("$", Style(BRIGHT[2])), Cell(" ", PLAIN), *(Cell(char, bold) for char in line)]]


def _part(rows: list[Row], first: str, last: str) -> list[Row]:
    """The lines from one to another, and no more than one empty line between them."""
    texts = [text_of(row) for row in rows]
    begin = next(number for number, text in enumerate(texts) if first in text)
    end = next(number for number, text in enumerate(texts) if number >= begin and last in text)
    return [rows[number] for number in range(begin, end + 1) if texts[number] or texts[number - 1]]


if __name__ == "__main__":
    FILE.write_text(drawn(asyncio.run(recorded()), COLUMNS, SAYS))
