"""Other users of the machine can read neither the overrides of a settings file nor the environment of commands."""

import stat
from pathlib import Path

from codex_mcp.scripted_model.load import load_script
from codex_mcp.scripted_model.server import ScriptedModel
from tests.support.processes import processes_at
from tests.support.servers.mcp_server import TOUR, McpServer, Setup, scripted_server

MAKE_A_FILE = '[[scene: run cmd="touch made"]]'

SECRET = "correct-horse-battery"


def settings_file(setup: Setup, overrides: list[str]) -> None:
    file = setup.home / ".config" / "atm" / "config.toml"
    file.parent.mkdir(parents=True)
    lines = "\n".join(f"'''{override}'''," for override in overrides)
    file.write_text(f"[plugins.codex-mcp]\noverrides = [\n{lines}\n]\n")
    file.chmod(0o600)


async def test_overrides_of_a_file_work_and_are_on_no_command_line(tmp_path: Path) -> None:
    async with ScriptedModel(load_script(TOUR)) as model:
        setup = Setup(tmp_path)
        setup.make()
        secret = [f'shell_environment_policy.set.PASSPHRASE="{SECRET}"', f'developer_instructions="Say {SECRET}."']
        settings_file(setup, [*model.codex_overrides(), *secret])
        prompt = '[[scene: run cmd="echo $PASSPHRASE"]]'
        async with McpServer(setup) as server:
            await server.initialize()
            first = await server.run("codex", {"prompt": prompt})
            assert SECRET in first["structuredContent"]["content"]
            assert SECRET in str(model.requests[-1])
            assert_nobody_can_read_it(setup)
        async with McpServer(setup) as server:
            await server.initialize()
            reply = {"prompt": prompt, "threadId": first["structuredContent"]["threadId"]}
            again = await server.run("codex-reply", reply)
            assert SECRET in again["structuredContent"]["content"]
            assert_nobody_can_read_it(setup)


def assert_nobody_can_read_it(setup: Setup) -> None:
    running = processes_at(setup.home)
    assert any("app-server" in process.argv for process in running)
    assert not any(SECRET in " ".join(process.argv) for process in running)


async def test_nobody_else_can_read_shell_snapshots_and_files_of_agents_keep_the_users_umask(tmp_path: Path) -> None:
    """The snapshots hold the environment. A stricter umask would hide them, and what agents make as well."""
    async with scripted_server(tmp_path) as (server, _model):
        await server.initialize()
        result = await server.run("codex", {"prompt": MAKE_A_FILE, "sandbox": "workspace-write"})
        assert result["structuredContent"]["status"] == "completed", result
        snapshots = server.setup.codex_home / "shell_snapshots"
        assert stat.S_IMODE(snapshots.stat().st_mode) == 0o700
        ours = server.setup.folder / "made-by-us"
        ours.touch()
        assert (server.setup.work / "made").stat().st_mode == ours.stat().st_mode
