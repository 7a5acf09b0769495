"""The real Claude Code at a terminal, with a person: its dialog, and the answers of another terminal."""

import asyncio
import contextlib
import json
import subprocess
from collections.abc import AsyncIterator
from pathlib import Path

from codex_mcp.scripted_model.load import load_script
from codex_mcp.scripted_model.server import ScriptedModel
from tests.support.clients.anthropic_model import AnthropicModel, Say, Use, Used
from tests.support.clients.claude_code import NOT_OUTSIDE, SERVER, codex
from tests.support.clients.judges import judge
from tests.support.processes import all_ended, end_all
from tests.support.servers.commands import command
from tests.support.servers.mcp_server import Setup
from tests.support.servers.terminal import Terminal
from tests.support.team.scenes import TEAM_SCRIPT

ESC = "\x1b"
WIDE = 120
KNOWN = {"hasCompletedOnboarding": True, "theme": "dark", "customApiKeyResponses": {"approved": ["none"]}}
"""What it has asked its person before."""


class Desk:
    """Claude Code, whose agent asks whether it may run a command, and another terminal."""

    def __init__(self, terminal: Terminal, model: AnthropicModel, home: Path) -> None:
        self.terminal = terminal
        self.model = model
        self._home = home

    async def dialog(self) -> str:
        """The id of the question, once its dialog is on the screen."""
        await self.shows("Decline")
        # A person takes longer than this command to react; whatever cancels at once is taken for a program.
        listed = await self.approvals("--json")
        (question,) = json.loads(listed.stdout)["approvals"]
        assert [each["client"] for each in question["asked_of"]] == ["claude-code"]
        question_id: str = question["id"]
        return question_id

    async def shows(self, text: str) -> None:
        """Wait until this is on its screen."""
        await asyncio.to_thread(self.terminal.wait_for, text)

    async def approvals(self, *words: str) -> "subprocess.CompletedProcess[str]":
        """Run the command in the other terminal."""
        return await asyncio.to_thread(command, self._home, "approvals", *words, ATM_IDENTITY="mira")

    @property
    def told(self) -> str:
        """What its model was told of the call."""
        return self.model.used[-1].text


async def plan(used: list[Used]) -> Say | Use:
    asks = {"sandbox": "read-only", "approval-policy": "on-request"}
    return Say("Understood.") if used else codex("[[scene: escalate]]", identity="arch", **asks)


@contextlib.asynccontextmanager
async def at_the_desk(folder: Path, *flags: str) -> AsyncIterator[Desk]:
    async with ScriptedModel(load_script(TEAM_SCRIPT)) as scripted, AnthropicModel(plan) as model:
        setup = Setup(folder, scripted.codex_overrides(), flags, command="serve")
        setup.make()
        project = {"hasTrustDialogAccepted": True, "hasCompletedProjectOnboarding": True}
        (setup.home / ".claude.json").write_text(json.dumps({**KNOWN, "projects": {str(setup.work): project}}))
        program, *words = setup.argv()
        server = {"command": program, "args": words, "env": setup.env()}
        servers = json.dumps({"mcpServers": {"codex": server}})
        claude = [judge("claude"), "Let Codex work.", "--mcp-config", servers, "--strict-mcp-config"]
        there = ["/bin/sh", "-c", 'cd "$0" && exec "$@"', str(setup.work), *claude, "--allowedTools", SERVER]
        environment = {**setup.env(), **NOT_OUTSIDE, "ANTHROPIC_BASE_URL": model.base_url}
        try:
            with Terminal(there, environment, WIDE) as terminal:
                yield Desk(terminal, model, setup.home)
        finally:
            end_all(setup.home)
            await all_ended(setup.home)


async def test_an_answer_in_another_terminal_closes_its_dialog(tmp_path: Path) -> None:
    async with at_the_desk(tmp_path, "--protocol", "legacy") as desk:
        question = await desk.dialog()
        assert (await desk.approvals("answer", question, "approved")).stdout == "Answered: approved.\n"
        await desk.shows("Understood.")
        assert "It ran." in desk.told


async def test_an_answer_in_its_dialog_closes_the_question_for_the_other_terminal(tmp_path: Path) -> None:
    async with at_the_desk(tmp_path) as desk:
        question = await desk.dialog()
        desk.terminal.type(ESC)
        await desk.shows("Understood.")
        assert "It was refused." in desk.told
        late = await desk.approvals("answer", question, "approved")
        assert (late.returncode, "It was answered (denied) by claude-code" in late.stderr) == (1, True)
