"""Clients on the command line whose models see only the text of a result: Gemini CLI.

A scripted model, which knows only what its client shows it, runs an agent, continues its thread, and collects the
answer of an agent in the background.
"""

import re
from pathlib import Path

import msgspec
import pytest

from codex_mcp.scripted_model.load import load_script
from codex_mcp.scripted_model.server import ScriptedModel
from tests.support.clients.anthropic_model import Say, Step, Use, Used
from tests.support.clients.chat_model import ChatModel
from tests.support.clients.judges import judge, node, run
from tests.support.http.http_server import http_server
from tests.support.servers.mcp_server import TOUR, Json, Setup

THREAD = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")

NOT_OUTSIDE = {"HTTPS_PROXY": "http://127.0.0.1:9", "NO_PROXY": "127.0.0.1", "TERM": "dumb"}
"""Whatever would leave this machine ends at a port where nobody listens."""


async def plan(used: list[Used]) -> Step:
    """What the model does next, by what it was shown."""
    match len(used):
        case 0:
            return Use("codex", {"prompt": '[[scene: say text="first"]]'})
        case 1:
            thread = THREAD.search(used[0].text)
            assert thread is not None, f"the model cannot continue with {used[0].text}"
            return Use("codex-reply", {"threadId": thread[0], "prompt": '[[scene: say text="second"]]'})
        case 2:
            return Use("codex", {"prompt": '[[scene: say text="third"]]', "background": True})
        case number if number < 12 and not any("third" in each.text for each in used):
            return Use("codex_wait", {})
        case number if number < 12 and "Nothing is running" not in used[-1].text:
            return Use("codex_wait", {})
        case _:
            return Say("done")


def gemini(server: Json, model: ChatModel, setup: Setup) -> tuple[list[str], dict[str, str]]:
    """The command line and environment of Gemini CLI."""
    entry = {"httpUrl": server["url"]} if "url" in server else server
    settings = {
        "mcpServers": {"codex": {**entry, "trust": True}},
        "security": {"auth": {"selectedType": "gemini-api-key"}, "folderTrust": {"enabled": False}},
        "privacy": {"usageStatisticsEnabled": False},
    }
    (setup.home / ".gemini").mkdir(exist_ok=True)
    (setup.home / ".gemini/settings.json").write_bytes(msgspec.json.encode(settings))
    environment = {"GEMINI_API_KEY": "none", "GOOGLE_GEMINI_BASE_URL": model.base_url}
    return [node(), judge("gemini"), "-m", "gemini-2.5-pro", "-y", "-p", "Let Codex work."], environment


CLIENTS = {"gemini": gemini}


async def played(client: str, server: Json, setup: Setup) -> list[str]:
    """Run the client to its end; return what its model was shown."""
    async with ChatModel(plan) as model:
        argv, environment = CLIENTS[client](server, model, setup)
        ended = await run(argv, setup, NOT_OUTSIDE | environment)
        assert ended.code == 0, ended.stderr
        return [each.text for each in model.used]


def check(shown: list[str]) -> None:
    assert "first" in shown[0]
    assert "second" in shown[1]
    assert sum("third" in each for each in shown) == 1, shown
    assert "Nothing is running" in shown[-1]


@pytest.mark.parametrize("client", CLIENTS)
async def test_its_model_continues_a_thread_and_is_told_everything_once_on_stdio(tmp_path: Path, client: str) -> None:
    async with ScriptedModel(load_script(TOUR)) as model:
        setup = Setup(tmp_path, model.codex_overrides())
        setup.make()
        command, *arguments = setup.argv()
        check(await played(client, {"command": command, "args": arguments, "env": setup.env()}, setup))


@pytest.mark.parametrize("client", CLIENTS)
async def test_so_it_is_over_http(tmp_path: Path, client: str) -> None:
    async with ScriptedModel(load_script(TOUR)) as model:
        setup, at_home = Setup(tmp_path / "server", model.codex_overrides()), Setup(tmp_path / "client")
        at_home.make()
        async with http_server(setup) as server:
            check(await played(client, {"url": f"http://127.0.0.1:{server.port}/mcp"}, at_home))
