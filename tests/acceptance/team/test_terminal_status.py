"""`codex-mcp status`: who needs you, and what runs, beside real servers."""

import asyncio
import json
import os
import signal
from pathlib import Path

from codex_mcp import __version__
from tests.support.servers.commands import command
from tests.support.team.scenes import TEAM_SCRIPT
from tests.support.team.team_server import GATE, TeamServer, team_server

ASKS = {"sandbox": "read-only", "approval-policy": "on-request"}


async def status(server: TeamServer, *words: str) -> tuple[int, str, str]:
    """Run the command in the server's home, while the server works."""
    done = await asyncio.to_thread(command, server.setup.home, "status", *words)
    return done.returncode, done.stdout, done.stderr


async def test_it_says_who_needs_you_and_which_servers_run(tmp_path: Path) -> None:
    async with team_server(tmp_path, script=TEAM_SCRIPT, elicitation=False) as (server, model):
        code, text, error = await status(server)
        assert (code, error, text.splitlines()[0]) == (0, "", "No agents yet.")
        assert f"process {server.process.pid}  {__version__}  " in text
        await server.start("[[scene: escalate]]", identity="arch", **ASKS)
        await server.start(GATE, identity="dev", background=True)
        await model.wait_for_gate("gate")
        code, text, _ = await status(server)
        first, need, where, *_ = text.splitlines()
        assert first.startswith("1 agent needs you. 1 working, 0 ready; the oldest question is ")
        assert need == "  arch wants to run touch made.txt"
        assert where == "codex-mcp approvals shows the questions, and answers them."
        assert "2 agents" in text
        document = json.loads((await status(server, "--json"))[1])
        assert (document["schema"], document["sentence"]) == (1, "1 agent needs you.")
        assert {each["identity"]: each["group"] for each in document["agents"]} == {"arch": "need", "dev": "work"}
        (row,) = document["servers"]
        assert [(each["name"], each["sessions"]) for each in row["clients"]] == [("tests", 1)]
        assert (row["process"], row["version"], row["agents"]) == (server.process.pid, __version__, 2)
        model.release("gate")


async def test_a_server_that_does_not_answer_is_named_and_one_that_ended_is_not(tmp_path: Path) -> None:
    async with team_server(tmp_path) as (server, _model):
        await server.start("[[scene: say text=hello]]", identity="arch")
        os.kill(server.process.pid, signal.SIGSTOP)
        try:
            code, text, _ = await status(server)
        finally:
            os.kill(server.process.pid, signal.SIGCONT)
        assert code == 0
        assert "does not answer" in text
        assert "No server with a team runs here." in text
        server.process.kill()
        await server.exit_code()
        code, text, _ = await status(server)
        assert (code, "does not answer" in text, "Nobody needs you." in text) == (0, False, True)


def test_without_a_state_folder_nobody_needs_you(tmp_path: Path) -> None:
    told = command(tmp_path, "status")
    assert (told.returncode, told.stderr) == (0, "")
    assert told.stdout == "No agents yet.\n\nNo server with a team runs here.\n"
