"""Codex itself as a client of our server over HTTP. It shakes hands."""

import os
import signal
from pathlib import Path

from tests.support.clients.codex_exec import SCRIPT, codex_exec
from tests.support.http.restartable_server import TOKEN, House, http_house
from tests.support.processes import commands_at, ended, the_one
from tests.support.servers.doorbell import doorbell
from tests.support.servers.mcp_server import Setup

SECRET = {"CODEX_MCP_TOKEN": TOKEN}


def address(house: House) -> list[str]:
    return [f'url="{house.url}"', 'bearer_token_env_var="CODEX_MCP_TOKEN"']


def client(house: House) -> Setup:
    """Where Codex lives; its model is that of our agents, too."""
    return Setup(house.setup.folder / "client", house.model.codex_overrides())


async def test_an_agent_runs_a_command_another_one_is_refused_and_goes_on_when_its_server_was_restarted(
    tmp_path: Path,
) -> None:
    async with (
        http_house(tmp_path, script=SCRIPT) as house,
        codex_exec(client(house), address(house), "travelling_boss", SECRET) as office,
    ):
        await house.model.wait_for_gate("next day")
        await house.restart()
        house.model.release("next day")
        ran, refused, after, _ = await office.finish()

        assert ran["result"]["structured_content"]["content"] == "Written."
        assert (house.setup.work / "file").read_text() == "written\n"
        assert refused["result"]["structured_content"]["content"] == "It was refused."
        assert after["result"]["structured_content"]["content"] == "Done: the second half"
        assert after["arguments"]["threadId"] == refused["result"]["structured_content"]["threadId"]
        assert "asks for MCP 2025-06-18" in house.log
        assert "restored" in house.log


async def test_a_turn_that_outlasts_a_call_is_collected_by_the_next_one(tmp_path: Path) -> None:
    async with (
        # In life it gives up after 300 s, progress or not, and we return after 240.
        http_house(tmp_path, "--soft-deadline", "1", script=SCRIPT) as house,
        codex_exec(client(house), [*address(house), "tool_timeout_sec=30"], "patient_boss", SECRET) as office,
    ):
        await house.model.wait_for_gate("told")
        house.model.release("door")
        house.model.release("told")
        begun, collected, _ = await office.finish()

        assert begun["result"]["structured_content"]["status"] == "running"
        (turn,) = collected["result"]["structured_content"]["finished"]
        assert turn["content"] == "Done at last."


async def test_an_agent_is_stopped_with_its_command_when_a_person_interrupts_the_call(tmp_path: Path) -> None:
    async with (
        http_house(tmp_path, script=SCRIPT) as house,
        doorbell(house.setup.work / "bell") as begun,
        codex_exec(client(house), address(house), "leaving_boss", SECRET) as office,
    ):
        await begun.wait()
        commands = commands_at(house.setup.home, "tail -f")
        # Not Node, which only wraps it, and would kill it before it can say that it leaves.
        codex = the_one(tmp_path / "client/home", lambda process: process.argv[0].endswith("/codex"))
        os.kill(codex.pid, signal.SIGINT)
        await office.process.communicate()
        for command in commands:
            await ended(command)
