"""A client that used `codex mcp-server` gets what it expects from the real Codex, even after a restart."""

from pathlib import Path

import pytest

from codex_mcp.scripted_model.load import load_script
from codex_mcp.scripted_model.server import ScriptedModel
from tests.support.servers.mcp_server import TOUR, Json, McpServer, Setup, scripted_server


async def test_a_new_thread_answers_and_a_reply_continues_it(tmp_path: Path) -> None:
    async with scripted_server(tmp_path) as (server, model):
        await server.initialize()

        first = await server.run("codex", {"prompt": '[[scene: say text="one"]]'})
        thread = first["structuredContent"]["threadId"]
        second = await server.run("codex-reply", {"threadId": thread, "prompt": '[[scene: say text="two"]]'})

        told = f"one\n\nthreadId: {thread} (codex-reply continues the thread)"
        assert first["content"] == [{"type": "text", "text": told}]
        assert first["structuredContent"]["content"] == "one"
        assert second["structuredContent"] | {"durationSeconds": 0, "usage": {}} == {
            "threadId": thread,
            "content": "two",
            "status": "completed",
            "filesChanged": [],
            "durationSeconds": 0,
            "usage": {},
        }
        assert '"one"' in model.requests[-1].body.decode().replace("\\", "")


async def test_stdin_closed_ends_the_server_with_code_0(tmp_path: Path) -> None:
    async with scripted_server(tmp_path) as (server, _model):
        await server.initialize()
        await server.run("codex", {"prompt": "hello"})

        server.close_stdin()

        assert await server.exit_code() == 0


@pytest.mark.parametrize("line", ["", 'sandbox_mode = "danger-full-access"', 'default_permissions = ":read-only"'])
async def test_workspace_write_outlives_a_restart_of_the_server(tmp_path: Path, line: str) -> None:
    """Whatever config.toml gives to new threads: neither more nor less than the call has asked for."""
    (inside := tmp_path / "work" / "inside").parent.mkdir()
    (extra := tmp_path / "extra").mkdir()
    outside = tmp_path / "outside"
    arguments: Json = {
        "prompt": "hi",
        "sandbox": "workspace-write",
        "approval-policy": "never",
        "config": {"sandbox_workspace_write": {"writable_roots": [str(extra)], "exclude_slash_tmp": True}},
    }
    async with ScriptedModel(load_script(TOUR)) as model:
        setup = Setup(tmp_path, model.codex_overrides())
        setup.make()
        (setup.codex_home / "config.toml").write_text(f"{line}\n")
        async with McpServer(setup) as server:
            await server.initialize()
            started = await server.run("codex", arguments)
        touch = f"touch {inside}; touch {extra}/written; touch {outside}"
        reply = {"threadId": started["structuredContent"]["threadId"], "prompt": f'[[scene: run cmd="{touch}"]]'}
        async with McpServer(setup) as server:
            await server.initialize()
            again = await server.run("codex-reply", reply)
            assert again["structuredContent"]["status"] == "completed", again
    assert inside.exists()
    assert (extra / "written").exists()
    assert not outside.exists()


async def test_an_answer_that_nobody_collected_is_there_after_a_restart(tmp_path: Path) -> None:
    async with ScriptedModel(load_script(TOUR)) as model:
        setup = Setup(tmp_path, model.codex_overrides(), [])
        async with McpServer(setup) as server:
            await server.initialize()
            begun = await server.run("codex", {"prompt": "[[scene: gate]]", "background": True})
            thread = begun["structuredContent"]["threadId"]
            await model.wait_for_gate("gate")
            model.release("gate")
            await server.event("task_complete")
        async with McpServer(setup) as server:
            await server.initialize()
            asked = {"threadIds": [thread.upper()], "timeout-seconds": 0}
            (found,) = (await server.run("codex_wait", asked))["structuredContent"]["finished"]
            assert (found["threadId"], found["status"], found["content"]) == (thread, "completed", "The gate is open.")
            assert (await server.run("codex_wait", asked))["structuredContent"]["finished"] == []
            unknown = await server.run("codex_wait", {"threadIds": ["01a1eee8-49fa-70a2-965d-edf4f2a47351"]})
            assert "No turn of thread" in unknown["content"][0]["text"]
