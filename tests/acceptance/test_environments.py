"""Named environments: agents of one server work in several places at once, each where its call or its role says."""

import asyncio
import contextlib
from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.acceptance.test_agent_on_exec_server import FREE
from tests.support.exec.exec_server import RunningServer, own_exec_server
from tests.support.rendezvous import ONLINE, TOKENS, RunningExecutor, RunningRendezvous, relay_url
from tests.support.servers.mcp_server import McpServer, scripted_server
from tests.support.team.team_server import refusal, structured, team_server

WHERE = '[[scene: run cmd="echo at=$PLACE"]]'
"""Says where the command runs: each place has its own value."""

BUILD = ["env", "PLACE=build", *own_exec_server()[:-2], "--log-level", "info"]


@dataclass
class Places:
    """An executor behind a rendezvous, an exec-server that listens, and the settings that name them."""

    rendezvous: RunningRendezvous
    executor: RunningExecutor
    box: RunningServer
    settings: str

    def write(self, folder: Path) -> None:
        """Write the settings of a server that lives in this folder."""
        file = folder / "home/.config/atm/config.toml"
        file.parent.mkdir(parents=True)
        file.write_text(self.settings)

    async def streams(self) -> int:
        """How many streams the executor has."""
        (entry,) = await self.rendezvous.as_("alice").environments()
        return entry.streams


@contextlib.asynccontextmanager
async def places(folder: Path) -> AsyncIterator[Places]:
    token = folder / "token"
    token.write_text(TOKENS["alice"])
    token.chmod(0o600)
    there = folder / "there"
    there.mkdir()
    async with (
        RunningRendezvous(folder / "rendezvous") as rendezvous,
        RunningExecutor(rendezvous.url, folder / "executor", BUILD) as executor,
        RunningServer(["env", "PLACE=box", *own_exec_server()], folder / "box") as box,
    ):
        await rendezvous.said(ONLINE)
        settings = f"""
[plugins.codex-mcp.environments.build-1]
url = "{relay_url(rendezvous.url)}"
token_file = "{token}"
cwd = "{there}"

[plugins.codex-mcp.environments.box]
url = "{box.url}"
cwd = "{there}"

[plugins.codex-mcp.roles.builder]
environment = "build-1"
"""
        yield Places(rendezvous, executor, box, settings)


async def where(server: McpServer, **arguments: object) -> str:
    """Where a new agent's command runs."""
    return at(structured(await server.run("codex", {"prompt": WHERE, **FREE, **arguments})))


def at(result: dict[str, object]) -> str:
    assert result["status"] == "completed", result
    return str(result["content"]).partition("at=")[2].split()[0]


HERE = {"PLACE": "here"}


async def test_two_agents_work_in_two_environments_at_once(tmp_path: Path) -> None:
    async with places(tmp_path) as there:
        there.write(tmp_path / "here")
        async with scripted_server(tmp_path / "here", environment=HERE) as (server, _model):
            await server.initialize()
            names = ("build-1", "box", "local", None)
            found = await asyncio.gather(
                *(where(server, **({} if name is None else {"environment": name})) for name in names)
            )
            assert found == ["build", "box", "here", "here"]
            assert await there.streams() == 1


async def test_a_model_sees_which_there_are(tmp_path: Path) -> None:
    async with places(tmp_path) as there:
        there.write(tmp_path / "here")
        async with scripted_server(tmp_path / "here") as (server, _model):
            await server.initialize()
            (codex, *_) = (await server.result(server.request("tools/list")))["tools"]
            assert codex["inputSchema"]["properties"]["environment"]["enum"] == ["build-1", "box", "local"]
            refused = await server.run("codex", {"prompt": WHERE, "environment": "bild-1"})
            assert (
                "there is no environment 'bild-1' on this server; did you mean build-1? known: local, build-1, box"
                in (refusal(refused))
            )
            assert await there.streams() == 0, "none is connected before it is needed"


async def test_the_exec_server_may_be_one_of_them(tmp_path: Path) -> None:
    async with places(tmp_path) as there:
        there.write(tmp_path / "here")
        flags = ("--exec-server", "build-1")
        async with scripted_server(tmp_path / "here", *flags, environment=HERE) as (server, _model):
            await server.initialize()
            assert await where(server) == "build"
            assert await where(server, environment="local") == "here"


@pytest.mark.parametrize("environment", ["build-1", "box"])
async def test_an_agent_stays_there_when_codex_dies_and_when_another_server_resumes_it(
    tmp_path: Path, environment: str
) -> None:
    async with places(tmp_path) as there:
        there.write(tmp_path / "here")
        expected = "build" if environment == "build-1" else "box"
        async with team_server(tmp_path / "here", environment=HERE) as (server, _model):
            agent = await server.start(WHERE, environment=environment, **FREE)
            assert at(agent) == expected
            await server.kill_core()
            assert at(await server.reply(agent["codex_id"], WHERE)) == expected
        async with team_server(tmp_path / "here", environment=HERE) as (server, _model):
            resumed = await server.start_with({"codex_id": agent["codex_id"], "prompt": WHERE})
            assert at(resumed) == expected
        (tmp_path / "here/home/.config/atm/config.toml").unlink()
        async with team_server(tmp_path / "here", environment=HERE) as (server, _model):
            refused = await server.run("codex", {"codex_id": agent["codex_id"], "prompt": WHERE})
            assert f"there is no environment '{environment}' on this server" in refusal(refused)


async def test_a_role_names_one_and_a_call_overrides_it(tmp_path: Path) -> None:
    async with places(tmp_path) as there:
        there.write(tmp_path / "here")
        async with team_server(tmp_path / "here", environment=HERE) as (server, _model):
            assert await where(server, role="builder") == "build"
            assert await where(server, role="builder", environment="box") == "box"
            assert await where(server) == "here"


async def test_one_that_is_away_fails_its_own_calls_only(tmp_path: Path) -> None:
    async with places(tmp_path) as there:
        there.write(tmp_path / "here")
        await there.executor.ask_to_end()
        await there.executor.exit_code()
        async with scripted_server(tmp_path / "here", environment=HERE) as (server, _model):
            await server.initialize()
            refused = refusal(await server.run("codex", {"prompt": WHERE, **FREE, "environment": "build-1"}))
            assert "cannot use the environment build-1 (relay+http://" in refused
            assert "no executor is connected" in refused
            assert await where(server, environment="box") == "box"
            async with RunningExecutor(there.rendezvous.url, tmp_path / "executor", BUILD) as again:
                await again.said("connected to")
                assert await where(server, environment="build-1") == "build"


async def test_its_stream_ends_after_its_agents(tmp_path: Path) -> None:
    async with places(tmp_path) as there:
        there.write(tmp_path / "here")
        async with team_server(tmp_path / "here", environment=HERE) as (server, _model):
            agent = await server.start(WHERE, environment="build-1", **FREE)
            assert await there.streams() == 1
            await server.close_agent(agent["codex_id"])
            await there.executor.said(": ended, the other side ended the stream")
            assert await there.streams() == 0
