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


async def test_files_of_tokens_and_keys_that_the_settings_name_are_hidden_as_well(tmp_path: Path) -> None:
    places = [tmp_path / "home/secrets" / name for name in ("tokens", "key.pem", "executor")]
    async with ScriptedModel(load_script(TOUR)) as model:
        flags = ["--tokens", str(places[0]), "--tls-key", str(places[1])]
        setup = Setup(tmp_path, model.codex_overrides(), flags)
        setup.make()
        places[0].parent.mkdir()
        for place in places:
            place.write_text(f"alice {SECRET}\n")
        settings = setup.home / ".config/atm/config.toml"
        settings.parent.mkdir(parents=True)
        settings.write_text(
            "[plugins.codex-mcp.environments.build]\nurl = 'ws://127.0.0.1:1'\ntoken_file = '~/secrets/executor'\n"
        )
        look = f'[[scene: run cmd="cat {" ".join(map(str, places))}; echo looked"]]'
        async with McpServer(setup) as server:
            await server.initialize()
            told = await server.run("codex", {"prompt": look, "approval-policy": "never", **NETWORK})
            plain = await server.run("codex", {"prompt": look, "approval-policy": "never"})
    content = told["structuredContent"]["content"]
    assert "looked" in content, told
    assert SECRET not in content
    assert content.count("Permission denied") == len(places)
    assert plain["structuredContent"]["content"].count(SECRET) == len(places)
