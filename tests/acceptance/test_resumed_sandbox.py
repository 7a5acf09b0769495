"""A thread that a later server continues has the sandbox that it was started with."""

from pathlib import Path

import pytest

from codex_mcp.scripted_model.load import load_script
from codex_mcp.scripted_model.server import ScriptedModel
from tests.support.servers.mcp_server import TOUR, Json, McpServer, Setup


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
