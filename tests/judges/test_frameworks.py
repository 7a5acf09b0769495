"""Agent frameworks with their defaults and a scripted model that knows only what it is shown.

What the model does is in `tests/support/clients/scenarios.py`; besides, an agent works longer than a framework waits.
"""

from pathlib import Path

import msgspec
import pytest

from codex_mcp.scripted_model.load import load_script
from codex_mcp.scripted_model.server import ScriptedModel
from tests.support.clients import scenarios
from tests.support.clients.judges import ROOT, first_python_sdk, frameworks, run
from tests.support.clients.scenarios import as_json
from tests.support.http.http_server import http_server
from tests.support.servers.mcp_server import TOUR, Json, Setup

PROGRAM = ROOT / "tests/judges/framework_client.py"

LONG = "Longer than five seconds."

GIVES_UP = [
    {"tool": "codex", "arguments": {"prompt": f'[[scene: wait seconds=7 text="{LONG}"]]'}},
    {"collect": LONG},
]
"""Some frameworks wait for five seconds only."""


async def played(framework: str, server: Json, setup: Setup) -> list[str]:
    python = first_python_sdk() if framework == "langchain" else frameworks()
    words = [
        python,
        str(PROGRAM),
        framework,
        msgspec.json.encode(server).decode(),
        msgspec.json.encode([*as_json(), *GIVES_UP]).decode(),
    ]
    quiet = {"OPENAI_AGENTS_DISABLE_TRACING": "1", "OTEL_SDK_DISABLED": "true", "NO_PROXY": "127.0.0.1"}
    ended = await run(words, setup, quiet)
    assert ended.code == 0, ended.stderr
    return msgspec.json.decode(ended.stdout.splitlines()[-1], type=list[str])


def check(shown: list[str], *, gives_up: bool) -> None:
    """`gives_up`: the framework waits for five seconds only."""
    rest = scenarios.check(shown)
    assert (LONG in rest[0]) is not gives_up
    assert sum(LONG in each for each in rest) == 1, shown


@pytest.mark.parametrize("framework", ["agents", "adk", "pydantic"])
async def test_a_framework_loses_and_repeats_nothing_on_stdio(tmp_path: Path, framework: str) -> None:
    async with ScriptedModel(load_script(TOUR)) as model:
        setup = Setup(tmp_path, model.codex_overrides())
        setup.make()
        command, *arguments = setup.argv()
        shown = await played(framework, {"command": command, "args": arguments, "env": setup.env()}, setup)
        check(shown, gives_up=framework in ("agents", "adk"))


@pytest.mark.parametrize("framework", ["agents", "adk", "pydantic", "langchain"])
async def test_nor_over_http(tmp_path: Path, framework: str) -> None:
    async with ScriptedModel(load_script(TOUR)) as model:
        setup = Setup(tmp_path / "server", model.codex_overrides())
        client = Setup(tmp_path / "client")
        client.make()
        async with http_server(setup) as server:
            shown = await played(framework, {"url": f"http://127.0.0.1:{server.port}/mcp"}, client)
            check(shown, gives_up=framework == "agents")
