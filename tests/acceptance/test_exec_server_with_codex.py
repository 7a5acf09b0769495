"""The real Codex uses our exec-server: its commands and patches happen there, within the limits that Codex asks for."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from tests.support.exec.wire import OURS, serving
from tests.support.servers.mcp_server import McpServer, scripted_server


@asynccontextmanager
async def codex_elsewhere(folder: Path) -> AsyncIterator[McpServer]:
    """A server whose Codex runs its commands through an exec-server with a home of its own."""
    async with (
        serving(folder / "elsewhere", OURS) as (url, _),
        scripted_server(folder, environment={"CODEX_EXEC_SERVER_URL": url}) as (server, _model),
    ):
        await server.initialize()
        yield server


async def test_commands_run_there(tmp_path: Path) -> None:
    async with codex_elsewhere(tmp_path) as server:
        answer = await server.run(
            "codex", {"prompt": '[[scene: run cmd="echo $HOME; pwd"]]', "sandbox": "danger-full-access"}
        )
        assert str(tmp_path / "elsewhere") in answer["structuredContent"]["content"]


async def test_commands_are_confined_there(tmp_path: Path) -> None:
    async with codex_elsewhere(tmp_path) as server:
        script = "touch inside; touch /usr/outside; grep NoNewPrivs /proc/self/status"
        answer = await server.run("codex", {"prompt": f'[[scene: run cmd="{script}"]]', "sandbox": "workspace-write"})
        said = answer["structuredContent"]["content"]
        assert "NoNewPrivs:\t1" in said
        assert "Read-only file system" in said
        assert (tmp_path / "work/inside").exists()


async def test_patches_are_written_there(tmp_path: Path) -> None:
    async with codex_elsewhere(tmp_path) as server:
        prompt = '[[scene: patch file="new.txt" line="by way of ours"]]'
        answer = await server.run("codex", {"prompt": prompt, "sandbox": "workspace-write"})
        assert answer["structuredContent"]["content"] == "The file is written."
        assert (tmp_path / "work/new.txt").read_text() == "by way of ours\n"
