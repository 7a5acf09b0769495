"""The MCP Inspector's command line with our server over HTTP: each command is a client of its own."""

import os
import re
import signal
from pathlib import Path

import msgspec

from tests.support.clients.judges import judge, node, run, started
from tests.support.http.restartable_server import House, http_house
from tests.support.processes import commands_at, ended
from tests.support.servers.doorbell import doorbell
from tests.support.servers.mcp_server import Json, Setup

NO_KEYRING = {"MCP_INSPECTOR_SECRET_STORE": "memory"}

MODERN = ("--protocol-era", "modern")
"""Without a handshake. By itself it shakes hands."""


def argv(house: House, place: Setup, *words: str) -> list[str]:
    """The command line; our server stands in a configuration file."""
    place.make()
    server = {"type": "streamable-http", "url": house.url, "headers": house.headers}
    config = place.folder / "servers.json"
    config.write_bytes(msgspec.json.encode({"mcpServers": {"codex": server}}))
    return [node(), judge("mcp-inspector"), "--cli", "--config", str(config), "--server", "codex", *words]


async def call(house: House, tool: str, *flags: str, **arguments: str) -> Json:
    """What a tool answered."""
    place = Setup(house.setup.folder / "client")
    given = [f"{name.replace('_', '-')}={value}" for name, value in arguments.items()]
    words = ["--method", "tools/call", "--tool-name", tool, "--tool-arg", *given, *flags]
    called = await run(argv(house, place, *words), place, NO_KEYRING)
    assert called.stdout, called.stderr
    structured: Json = msgspec.json.decode(called.stdout)["structuredContent"]
    return structured


async def test_an_agent_runs_a_command_another_one_is_refused_and_one_goes_on_when_its_server_was_restarted(
    tmp_path: Path,
) -> None:
    async with http_house(tmp_path) as house:
        writing = '[[scene: run cmd="echo written > file"]]'
        ran = await call(house, "codex", prompt=writing, sandbox="workspace-write")
        refused = await call(house, "codex", *MODERN, prompt="[[scene: escalate]]", approval_policy="on-request")
        await house.restart()
        after = await call(house, "codex-reply", threadId=ran["threadId"], prompt='[[scene: say text="after"]]')

        assert (house.setup.work / "file").read_text() == "written\n"
        assert refused["content"] == "It was refused."
        assert (after["threadId"], after["content"]) == (ran["threadId"], "after")
        assert house.log.count("asks for MCP 2025-11-25") == 2
        # However many clients came, each server had one.
        assert len(re.findall(r"core \d+ started", house.log)) == 2


async def test_a_turn_that_outlasts_a_call_is_collected_by_the_next_one(tmp_path: Path) -> None:
    # In life it gives up after 60 s, and as it asks for no progress, we return after 45.
    async with http_house(tmp_path, "--soft-deadline", "1") as house:
        begun = await call(house, "codex", prompt="[[scene: gate]]")
        house.model.release("gate")
        collected = await call(house, "codex_wait", threadIds=f'["{begun["threadId"]}"]')

        assert begun["status"] == "running"
        assert [turn["content"] for turn in collected["finished"]] == ["The gate is open."]


async def test_an_agent_is_stopped_with_its_command_when_a_person_interrupts_the_call(tmp_path: Path) -> None:
    prompt = 'prompt=[[scene: run cmd="echo > bell; exec tail -f /dev/null"]]'
    words = ["--method", "tools/call", "--tool-name", "codex", "--tool-arg", prompt, "sandbox=workspace-write"]
    place = Setup(tmp_path / "client")
    async with (
        http_house(tmp_path) as house,
        doorbell(house.setup.work / "bell") as begun,
        started(argv(house, place, *words, *MODERN), place, NO_KEYRING) as process,
    ):
        await begun.wait()
        commands = commands_at(house.setup.home, "tail -f")
        os.kill(process.pid, signal.SIGINT)
        await process.communicate()
        for command in commands:
            await ended(command)
