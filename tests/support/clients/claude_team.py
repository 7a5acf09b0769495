"""The real Claude Code at a terminal, as the lead of an agent team, on a task that its scripted model gives it.

Without a terminal (`-p`) it has no team.
"""

import asyncio
import contextlib
import fcntl
import json
import os
import pty
import struct
import termios
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from pathlib import Path

from tests.support.clients.anthropic_model import AnthropicModel, Json, Plan, Use
from tests.support.clients.claude_code import NOT_OUTSIDE, SERVER
from tests.support.clients.judges import judge
from tests.support.patience import PATIENCE
from tests.support.processes import all_ended, end_all
from tests.support.servers.mcp_server import Setup

READ_BYTES = 65536

TEAMMATE = "You are a teammate."
"""How the prompt of a native teammate begins."""

SPAWN = Use("Agent", {"description": "a teammate", "prompt": TEAMMATE, "name": "mate"})
"""Its model starts a native teammate. Until then Claude Code does not look into the inbox of the lead."""


def send_message(to: str, message: str | Json) -> Use:
    """Its model writes to a member of the team."""
    summary = {"summary": "a question"} if isinstance(message, str) else {}
    return Use("SendMessage", {"to": to, "message": message, **summary})


def said_to(request: Json) -> str:
    """Everything that a request tells the model in its last message."""
    return json.dumps(request["messages"][-1]["content"], ensure_ascii=False).replace("\\n", "\n").replace('\\"', '"')


@dataclass(slots=True)
class Lead:
    """A running Claude Code, its model, and what it shows."""

    model: AnthropicModel
    teams: Path
    screen: bytearray = field(default_factory=bytearray)

    @property
    def team(self) -> Path:
        """The folder of its team."""
        (found,) = self.teams.glob("session-*")
        return found

    def members(self) -> dict[str, Json]:
        """The members of its team, by name; none while it writes the file, which it does in place."""
        try:
            members = json.loads((self.team / "config.json").read_text())["members"]
        except ValueError:
            return {}
        return {each["name"]: each for each in members}


@contextlib.asynccontextmanager
async def claude_lead(setup: Setup, server: Json, plan: Plan) -> AsyncIterator[Lead]:
    """Start it with this server in its configuration. At the end it is gone, with all that it started."""
    setup.make()
    _answer_first_questions(setup)
    async with AnthropicModel(plan) as model:
        servers = json.dumps({"mcpServers": {"codex": server}})
        words = ["--permission-mode", "acceptEdits", "--allowedTools", SERVER, "SendMessage", "Agent"]
        words += ["--mcp-config", servers, "--strict-mcp-config", "--", "Let Codex work."]
        told = {"CLAUDE_CODE_EXPERIMENTAL_AGENT_TEAMS": "1", "ANTHROPIC_BASE_URL": model.base_url}
        lead = Lead(model, setup.home / ".claude/teams")
        async with _at_terminal([judge("claude"), *words], setup, NOT_OUTSIDE | told, lead.screen):
            yield lead


def _answer_first_questions(setup: Setup) -> None:
    """What it would ask a person at its first start in a folder."""
    trusted = {"hasTrustDialogAccepted": True, "hasCompletedProjectOnboarding": True}
    answers = {
        "hasCompletedOnboarding": True,
        "theme": "dark",
        "customApiKeyResponses": {"approved": [NOT_OUTSIDE["ANTHROPIC_API_KEY"]], "rejected": []},
        "projects": {str(setup.work): trusted},
    }
    (setup.home / ".claude.json").write_text(json.dumps(answers))


@contextlib.asynccontextmanager
async def _at_terminal(argv: list[str], setup: Setup, told: dict[str, str], screen: bytearray) -> AsyncIterator[None]:
    master, slave = pty.openpty()
    fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", 50, 120, 0, 0))
    loop = asyncio.get_running_loop()

    def read() -> None:
        try:
            screen.extend(os.read(master, READ_BYTES))
        except OSError:  # it has closed its terminal
            loop.remove_reader(master)

    process = await asyncio.create_subprocess_exec(
        *argv,
        stdin=slave,
        stdout=slave,
        stderr=slave,
        cwd=setup.work,
        env=setup.env() | {"TERM": "xterm-256color"} | told,
        start_new_session=True,
        preexec_fn=lambda: fcntl.ioctl(0, termios.TIOCSCTTY, 0),
    )
    os.close(slave)
    loop.add_reader(master, read)
    try:
        async with asyncio.timeout(4 * PATIENCE):
            yield
            process.terminate()
            await process.wait()
        await all_ended(setup.home)
    finally:
        end_all(setup.home)  # nothing, unless the test has failed
        await process.wait()
        loop.remove_reader(master)
        os.close(master)
