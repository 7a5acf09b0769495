"""An agent with network access cannot read the secrets of a server; every other agent is set up as before."""

from pathlib import Path

from codex_mcp.scripted_model.load import load_script
from codex_mcp.scripted_model.server import ScriptedModel
from tests.support.servers.mcp_server import TOUR, Json, McpServer, Setup

SECRET = "made-for-this-test-0123456789abcdef"
NETWORK: Json = {"sandbox": "workspace-write", "config": {"sandbox_workspace_write": {"network_access": True}}}


async def test_no_agent_with_network_reads_a_secret_also_after_the_core_died(tmp_path: Path) -> None:
    async with ScriptedModel(load_script(TOUR)) as model:
        setup = Setup(tmp_path, model.codex_overrides())
        setup.make()
        ours = setup.codex_home / "codex-mcp"
        ours.mkdir()
        (ours / "token").write_text(SECRET)
        command = f"cat {ours}/token {ours}/server.key; ls {ours}; echo written > inside.txt && cat inside.txt"
        look = f'[[scene: run cmd="{command}"]]'
        async with McpServer(setup) as server:
            await server.initialize()
            first = await server.run("codex", {"prompt": look, "approval-policy": "never", **NETWORK})
            told = first["structuredContent"]
            assert SECRET not in told["content"]
            assert "Permission denied" in told["content"]
            assert "written" in told["content"]
            profile = next(each for each in server.events() if each["type"] == "session_configured")
            assert profile["permission_profile"]["network"] == "enabled"
            assert str(ours) not in str(profile)
            await server.kill_core()
            again = await server.run("codex-reply", {"prompt": look, "threadId": told["threadId"]})
            assert SECRET not in again["structuredContent"]["content"]
            assert "written" in again["structuredContent"]["content"]
            plain = await server.run(
                "codex", {"prompt": look, "approval-policy": "never", "sandbox": "workspace-write"}
            )
            assert "written" in plain["structuredContent"]["content"]
