"""`codex-mcp mcp-server --exec-server URL`: what an agent does happens there."""

import signal
from pathlib import Path

from tests.support.exec.exec_server import own_exec_server, running_exec_server, served_by
from tests.support.servers.mcp_server import McpServer, scripted_server
from tests.support.servers.ports import fixed_port
from tests.support.team.team_server import say, team_server

PARENT = "tr '\\\\0' ' ' < /proc/$PPID/cmdline"
"""Tells who started the command's shell."""

FREE = {"sandbox": "danger-full-access", "approval-policy": "never"}


async def parent_of_a_command(server: McpServer, **arguments: str) -> str:
    prompt = f'[[scene: run cmd="{PARENT}"]]'
    result = await server.run("codex", {"prompt": prompt, **FREE, **arguments})
    assert result["structuredContent"]["status"] == "completed", result
    text: str = result["structuredContent"]["content"]
    return text


async def test_commands_run_on_the_exec_server_unless_a_call_wants_them_here(tmp_path: Path) -> None:
    with served_by(own_exec_server()):
        async with (
            running_exec_server(tmp_path / "there") as there,
            scripted_server(tmp_path / "here", "--exec-server", there.url) as (server, _model),
        ):
            await server.initialize()

            assert "exec-server" in await parent_of_a_command(server)
            assert "app-server" in await parent_of_a_command(server, environment="local")


async def test_a_patch_is_applied_there_and_a_reply_stays_there(tmp_path: Path) -> None:
    with served_by(own_exec_server()):
        async with (
            running_exec_server(tmp_path / "there") as there,
            scripted_server(tmp_path / "here", "--exec-server", there.url) as (server, _model),
        ):
            await server.initialize()
            folder = tmp_path / "elsewhere"
            folder.mkdir()

            patched = await server.run("codex", {"prompt": "[[scene: patch]]", "cwd": str(folder), **FREE})
            thread = patched["structuredContent"]["threadId"]
            reply = await server.run("codex-reply", {"threadId": thread, "prompt": f'[[scene: run cmd="{PARENT}"]]'})

            assert (folder / "hello.txt").read_text() == "hello\n"
            assert "exec-server" in reply["structuredContent"]["content"]


async def test_a_folder_of_the_exec_server_is_named_in_full(tmp_path: Path) -> None:
    async with scripted_server(tmp_path, "--exec-server", "ws://127.0.0.1:1") as (server, _model):
        await server.initialize()
        result = await server.run("codex", {"prompt": "hi", "cwd": "somewhere"})
        assert result["isError"]
        assert "must be an absolute path" in result["content"][0]["text"]


async def test_without_an_exec_server_nobody_can_ask_for_it(tmp_path: Path) -> None:
    async with scripted_server(tmp_path) as (server, _model):
        await server.initialize()
        result = await server.run("codex", {"prompt": "hi", "environment": "exec-server"})
        assert result["isError"]
        assert "start codex-mcp with --exec-server URL" in result["content"][0]["text"]


async def test_no_agent_begins_without_its_exec_server(tmp_path: Path) -> None:
    url = f"ws://127.0.0.1:{fixed_port()}"
    async with scripted_server(tmp_path / "here", "--exec-server", url) as (server, _model):
        await server.initialize()

        failed = await server.run("codex", {"prompt": "hi", **FREE})
        assert failed["isError"]
        assert f"cannot use the exec-server {url}: " in failed["content"][0]["text"]
        assert "app-server" in await parent_of_a_command(server, environment="local")

        with served_by([*own_exec_server(), "--listen", url]):
            async with running_exec_server(tmp_path / "there"):
                assert "exec-server" in await parent_of_a_command(server)


async def test_an_agent_whose_exec_server_is_gone_still_sums_up_when_the_server_ends(tmp_path: Path) -> None:
    with served_by(own_exec_server()):
        async with (
            running_exec_server(tmp_path / "there") as there,
            team_server(tmp_path / "here", "--exec-server", there.url) as (server, _model),
        ):
            agent = await server.start(say("done"), **FREE)
            there.process.terminate()
            await there.process.wait()
            server.process.send_signal(signal.SIGTERM)
            await server.process.wait()
            summary = server.state_dir / agent["identity"] / agent["threadId"] / "summary.md"
            assert summary.exists()
            assert server.registry()[agent["codex_id"]]["status"] == "closed"
