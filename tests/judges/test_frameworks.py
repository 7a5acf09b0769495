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

FIRST_SDK = ("langchain", "autogen")
"""Frameworks on the first generation of the SDK."""

LONG = "Longer than five seconds."

GIVES_UP = {"agents": 7, "adk": 7, "autogen": 12}
"""Frameworks that wait for five seconds only, and how long the agent works then. AutoGen does not tell the server that
it has given up; two of its calls do so here."""

PATIENT_OVER_HTTP = ("adk", "autogen")


def longer(framework: str) -> list[Json]:
    """Steps of a model whose agent works for longer than the framework waits."""
    prompt = f'[[scene: wait seconds={GIVES_UP[framework]} text="{LONG}"]]'
    return [{"tool": "codex", "arguments": {"prompt": prompt}}, {"collect": LONG}]


async def played(framework: str, server: Json, setup: Setup, steps: list[Json], answer: str = "") -> list[str]:
    python = first_python_sdk() if framework in FIRST_SDK else frameworks()
    words = [
        python,
        str(PROGRAM),
        framework,
        msgspec.json.encode(server).decode(),
        msgspec.json.encode(steps).decode(),
        answer,
    ]
    quiet = {"OPENAI_AGENTS_DISABLE_TRACING": "1", "OTEL_SDK_DISABLED": "true", "NO_PROXY": "127.0.0.1"}
    ended = await run(words, setup, quiet)
    assert ended.code == 0, ended.stderr
    return msgspec.json.decode(ended.stdout.splitlines()[-1], type=list[str])


async def check(framework: str, server: Json, setup: Setup, *, gives_up: bool) -> None:
    """`gives_up`: the framework waits for five seconds only."""
    steps = [*as_json(), *(longer(framework) if gives_up else [])]
    shown = await played(framework, server, setup, steps)
    assert [shown[0].count("first"), shown[1].count(scenarios.FAILURE)] == [1, 1], shown[:2]
    rest = scenarios.check(shown)
    assert not gives_up or LONG not in rest[0]
    assert sum(LONG in each for each in rest) == gives_up, rest


@pytest.mark.parametrize("framework", ["agents", "adk", "pydantic", "autogen", "fastmcp"])
async def test_a_framework_loses_and_repeats_nothing_on_stdio(tmp_path: Path, framework: str) -> None:
    async with ScriptedModel(load_script(TOUR)) as model:
        setup = Setup(tmp_path, model.codex_overrides())
        setup.make()
        command, *arguments = setup.argv()
        server = {"command": command, "args": arguments, "env": setup.env()}
        await check(framework, server, setup, gives_up=framework in GIVES_UP)


@pytest.mark.parametrize("framework", ["agents", "adk", "pydantic", "langchain", "autogen", "fastmcp"])
async def test_nor_over_http(tmp_path: Path, framework: str) -> None:
    async with ScriptedModel(load_script(TOUR)) as model:
        setup = Setup(tmp_path / "server", model.codex_overrides())
        client = Setup(tmp_path / "client")
        client.make()
        async with http_server(setup) as server:
            at = {"url": f"http://127.0.0.1:{server.port}/mcp"}
            await check(framework, at, client, gives_up=framework in GIVES_UP and framework not in PATIENT_OVER_HTTP)


ASKED = [{"tool": "codex", "arguments": {"prompt": "[[scene: escalate]]", "approval-policy": "on-request"}}]


@pytest.mark.parametrize(("answer", "said"), [("accept", "It ran."), ("decline", "It was refused.")])
@pytest.mark.parametrize("framework", ["adk", "pydantic", "langchain", "fastmcp"])
async def test_a_framework_that_asks_its_person_passes_the_decision_on(
    tmp_path: Path, framework: str, answer: str, said: str
) -> None:
    async with ScriptedModel(load_script(TOUR)) as model:
        setup = Setup(tmp_path, model.codex_overrides())
        setup.make()
        command, *arguments = setup.argv()
        server = {"command": command, "args": arguments, "env": setup.env(), "cwd": str(setup.work)}
        (shown,) = await played(framework, server, setup, ASKED, answer)
        assert said in shown
        assert "no one could be asked" not in shown
        assert (setup.work / "escalated").exists() is (answer == "accept")
