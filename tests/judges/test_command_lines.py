"""Clients on the command line with their defaults and a scripted model that knows only what it is shown: Gemini CLI,
opencode, Copilot CLI, Qwen Code and Cline. What their models do is in `tests/support/clients/scenarios.py`."""

import asyncio
import os
import signal
from pathlib import Path

import pytest

from codex_mcp.scripted_model.load import load_script
from codex_mcp.scripted_model.server import ScriptedModel
from tests.support.clients.anthropic_model import Plan, Step, Use, Used
from tests.support.clients.chat_model import ChatModel
from tests.support.clients.command_lines import CLIENTS, NOT_OUTSIDE, WITH_TOKEN, entry_on_stdio, entry_over_http
from tests.support.clients.judges import run, started
from tests.support.clients.scenarios import FAILURE, check, check_long, play, read_long
from tests.support.http.http_server import http_server
from tests.support.http.raw_http import TOKEN
from tests.support.processes import commands_at, ended
from tests.support.servers.doorbell import doorbell
from tests.support.servers.mcp_server import TOUR, Json, Setup

UNASKED = "no one could be asked"

ANSWERS_ITSELF = ["copilot"]
"""Clients that declare that they ask a person, and decline in the place of one if there is none."""

REPEATS_ERRORS = ["qwen"]
"""Clients that show the text of an error twice."""

HOLDS_LESS = ["qwen", "copilot", "cline"]
"""Clients that lose a part of a long result, and of a shorter one than others."""


def tokens(folder: Path) -> list[str]:
    """The flags of a server that wants the token."""
    file = folder / "tokens"
    file.write_text(f"tester {TOKEN}\n")
    file.chmod(0o600)
    return ["--tokens", str(file)]


async def shown_by(client: str, server: Json, setup: Setup, plan: Plan) -> list[str]:
    """Run the client to its end; return what its model was shown."""
    async with ChatModel(plan) as model:
        argv, environment = CLIENTS[client](server, model, setup.home)
        ended = await run(argv, setup, NOT_OUTSIDE | WITH_TOKEN | environment)
        assert ended.code == 0, ended.stderr
        return [each.text for each in model.used]


async def played(client: str, server: Json, setup: Setup) -> list[str]:
    shown = await shown_by(client, server, setup, play)
    assert shown[0].count("first") == 1, "an answer is told once, in the text or in the structured content"
    assert shown[1].count(FAILURE) == (2 if client in REPEATS_ERRORS else 1), shown[1]
    assert any(UNASKED in each for each in shown) is (client not in ANSWERS_ITSELF)
    return shown


@pytest.mark.parametrize("client", CLIENTS)
async def test_its_model_continues_a_thread_and_is_told_everything_once_on_stdio(tmp_path: Path, client: str) -> None:
    async with ScriptedModel(load_script(TOUR)) as model:
        setup = Setup(tmp_path, model.codex_overrides())
        setup.make()
        assert check(await played(client, entry_on_stdio(client, setup), setup)) == []


@pytest.mark.parametrize("client", HOLDS_LESS)
async def test_its_model_reads_a_long_answer_part_by_part(tmp_path: Path, client: str) -> None:
    async with ScriptedModel(load_script(TOUR)) as model:
        setup = Setup(tmp_path, model.codex_overrides())
        setup.make()
        check_long(await shown_by(client, entry_on_stdio(client, setup), setup, read_long))


@pytest.mark.parametrize("client", CLIENTS)
async def test_so_it_is_over_http_with_a_token(tmp_path: Path, client: str) -> None:
    async with ScriptedModel(load_script(TOUR)) as model:
        setup, at_home = (
            Setup(tmp_path / "server", model.codex_overrides(), tokens(tmp_path)),
            Setup(tmp_path / "client"),
        )
        at_home.make()
        async with http_server(setup) as server:
            assert check(await played(client, entry_over_http(client, server.port), at_home)) == []


@pytest.mark.parametrize("client", CLIENTS)
async def test_ctrl_c_ends_the_client_its_server_and_the_agent(tmp_path: Path, client: str) -> None:
    async def plan(used: list[Used]) -> Step:
        return Use("codex", {"prompt": "[[scene: gate]]"})

    async with ScriptedModel(load_script(TOUR)) as scripted, ChatModel(plan) as model:
        setup = Setup(tmp_path, scripted.codex_overrides())
        setup.make()
        argv, environment = CLIENTS[client](entry_on_stdio(client, setup), model, setup.home)
        async with (
            started(argv, setup, NOT_OUTSIDE | environment) as process,  # which waits until all have ended
            asyncio.TaskGroup() as tasks,
        ):
            tasks.create_task(process.communicate(b""))  # some clients read their stdin to its end
            await scripted.wait_for_gate("gate")
            os.killpg(process.pid, signal.SIGINT)


async def test_ctrl_c_in_copilot_cli_stops_the_agent_over_http(tmp_path: Path) -> None:
    async def plan(used: list[Used]) -> Step:
        prompt = '[[scene: run cmd="echo > bell; exec tail -f /dev/null"]]'
        return Use("codex", {"prompt": prompt, "sandbox": "workspace-write"})

    async with ScriptedModel(load_script(TOUR)) as scripted, ChatModel(plan) as model:
        setup = Setup(tmp_path / "server", scripted.codex_overrides(), tokens(tmp_path))
        at_home = Setup(tmp_path / "client")
        at_home.make()
        async with http_server(setup) as server, doorbell(setup.work / "bell") as begun:
            argv, environment = CLIENTS["copilot"](entry_over_http("copilot", server.port), model, at_home.home)
            environment |= NOT_OUTSIDE | WITH_TOKEN
            async with started(argv, at_home, environment) as process, asyncio.TaskGroup() as tasks:
                tasks.create_task(process.communicate(b""))
                await begun.wait()
                commands = commands_at(setup.home, "tail -f")
                os.killpg(process.pid, signal.SIGINT)
            for command in commands:
                await ended(command)
