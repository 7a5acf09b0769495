"""A repository runs nothing and gains no trust through a call: trust is the user's decision alone."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from codex_mcp.scripted_model.load import load_script
from codex_mcp.scripted_model.server import ScriptedModel
from tests.support.exec.exec_server import own_exec_server, running_exec_server, served_by
from tests.support.servers.mcp_server import TOUR, Json, McpServer, Setup, scripted_server
from tests.support.team.hostile_repository import SETTINGS, HostileRepository, hostile_repository
from tests.support.team.team_server import say, team_server

USERS_CONFIG = """# The user's own file, comments and all.
[profiles.writing]
sandbox_mode = "workspace-write"
"""

WAYS: list[Json] = [
    {"sandbox": "workspace-write"},
    {"config": {"sandbox_mode": "workspace-write"}},
    {"config": {"sandbox_mode": "workspace-write", "sandbox_workspace_write": {"network_access": True}}},
    {"profile": "writing"},
    {"config": {"profile": "writing"}},
    {"config": {"default_permissions": ":workspace"}},
]
"""Every way in which a call may ask for a sandbox that lets it write."""


@pytest.fixture
def repository(tmp_path: Path) -> HostileRepository:
    folder = tmp_path / "clone"
    folder.mkdir()
    return hostile_repository(folder)


@pytest.fixture
def config(tmp_path: Path) -> Iterator[Path]:
    """The user's config.toml, which must be the same afterwards, byte for byte; a test may write it first."""
    setup = Setup(tmp_path)
    setup.make()
    path = setup.codex_home / "config.toml"
    path.write_text(USERS_CONFIG)
    yield path
    assert path.read_text() == USERS_CONFIG


async def call(server: McpServer, folder: Path, prompt: str, arguments: Json) -> Json:
    """Run a turn in a folder; return what the result says."""
    result = await server.run("codex", {"prompt": prompt, "cwd": str(folder), "approval-policy": "never", **arguments})
    assert "structuredContent" in result, result
    said: Json = result["structuredContent"]
    assert said["status"] == "completed", said
    return said


def started_servers(server: McpServer) -> list[str]:
    """The MCP servers that Codex started, by name."""
    return [event["server"] for event in server.events() if event["type"] == "mcp_startup_update"]


async def test_no_call_makes_a_repository_run_anything(
    tmp_path: Path, config: Path, repository: HostileRepository
) -> None:
    """In every kind of folder, and by every way in which a call may ask for rights."""
    async with scripted_server(tmp_path) as (server, model):
        await server.initialize()
        for folder in repository.folders:
            await call(server, folder, repository.escape, WAYS[0])
            # Codex runs no command in a folder that is a link inside of another writable folder.
            assert (folder / "inside.txt").exists() or folder == repository.link
            (folder / "inside.txt").unlink(missing_ok=True)
        for way in WAYS[1:]:
            await call(server, repository.root, repository.escape, way)
            assert (repository.root / "inside.txt").exists(), way
            (repository.root / "inside.txt").unlink()
        await call(server, repository.root, say("hi"), {"sandbox": "danger-full-access"})
        assert started_servers(server) == []
        assert "Read by every agent" in str(model.requests[-1])
    assert repository.damage() == []


async def test_a_call_without_a_sandbox_stays_read_only(
    tmp_path: Path, config: Path, repository: HostileRepository
) -> None:
    async with scripted_server(tmp_path) as (server, _model):
        await server.initialize()
        await call(server, repository.root, repository.escape, {})
        configured = await server.event("session_configured")
    assert configured["params"]["msg"]["permission_profile"]["file_system"]["entries"] == [
        {"path": {"type": "special", "value": {"kind": "root"}}, "access": "read"}
    ]
    assert configured["params"]["msg"]["approval_policy"] == "never"
    assert not (repository.root / "inside.txt").exists()


@pytest.mark.parametrize(
    "overrides",
    [
        ["sandbox_mode=workspace-write"],
        ["default_permissions=:workspace"],
        ["profile=writing"],
    ],
)
async def test_what_the_server_may_do_by_default_makes_no_folder_trusted(
    tmp_path: Path, config: Path, repository: HostileRepository, overrides: list[str]
) -> None:
    async with scripted_server(tmp_path, overrides=overrides) as (server, _model):
        await server.initialize()
        await call(server, repository.root, repository.escape, {})
        assert started_servers(server) == []
    assert (repository.root / "inside.txt").exists()
    assert repository.damage() == []


@pytest.mark.parametrize("line", ['sandbox_mode = "workspace-write"', 'default_permissions = ":workspace"'])
async def test_what_config_toml_allows_makes_no_folder_trusted(
    tmp_path: Path, repository: HostileRepository, line: str
) -> None:
    setup = Setup(tmp_path)
    setup.make()
    config = setup.codex_home / "config.toml"
    config.write_text(f"{line}\n")
    async with scripted_server(tmp_path) as (server, _model):
        await server.initialize()
        await call(server, repository.root, repository.escape, {})
    assert (repository.root / "inside.txt").exists()
    assert repository.damage() == []
    assert config.read_text() == f"{line}\n"


async def test_the_sandbox_of_a_call_is_the_one_that_config_toml_describes(tmp_path: Path) -> None:
    setup = Setup(tmp_path)
    setup.make()
    extra = tmp_path / "extra"
    extra.mkdir()
    text = f'[sandbox_workspace_write]\nwritable_roots = ["{extra}"]\nexclude_slash_tmp = true\n'
    (setup.codex_home / "config.toml").write_text(text)
    async with scripted_server(tmp_path) as (server, _model):
        await server.initialize()
        arguments: Json = {"sandbox": "workspace-write", "config": {"sandbox_workspace_write.network_access": True}}
        await call(server, setup.work, f'[[scene: run cmd="touch {extra}/written"]]', arguments)
        profile = (await server.event("session_configured"))["params"]["msg"]["permission_profile"]
    assert (extra / "written").exists()
    assert profile["network"] == "enabled"
    writable = [entry["path"] for entry in profile["file_system"]["entries"] if entry["access"] == "write"]
    assert {"type": "path", "path": str(extra)} in writable
    assert {"type": "special", "value": {"kind": "slash_tmp"}} not in writable


async def test_a_folder_that_the_user_trusted_stays_trusted(tmp_path: Path, repository: HostileRepository) -> None:
    """The control of the other tests as well: they would see what the repository starts."""
    setup = Setup(tmp_path)
    setup.make()
    config = setup.codex_home / "config.toml"
    text = f'[projects."{repository.root}"]\ntrust_level = "trusted"\n'
    config.write_text(text)
    async with scripted_server(tmp_path) as (server, _model):
        await server.initialize()
        await call(server, repository.nested, say("hi"), {"sandbox": "workspace-write"})
        assert "evil" in started_servers(server)
        await call(server, repository.root, repository.escape, {"sandbox": "workspace-write"})
    assert {"server-started", "escaped"} <= set(repository.damage())
    assert config.read_text() == text


@pytest.mark.parametrize(
    "given",
    [
        {"projects": {"FOLDER": {"trust_level": "trusted"}}},
        {"projects.FOLDER.trust_level": "trusted"},
        {"projects": {"FOLDER": {"trust_level": "untrusted"}, "/": {"trust_level": "trusted"}}},
        {"project_root_markers": ["AGENTS.md"]},
    ],
)
async def test_a_call_cannot_declare_a_folder_trusted(
    tmp_path: Path, config: Path, repository: HostileRepository, given: Json
) -> None:
    told = eval(repr(given).replace("FOLDER", str(repository.root)))
    async with scripted_server(tmp_path) as (server, _model):
        await server.initialize()
        result = await server.run("codex", {"prompt": "hi", "cwd": str(repository.root), "config": told})
        assert result["isError"]
        assert "config.toml" in result["content"][0]["text"]
    assert repository.damage() == []


async def test_a_call_can_declare_a_folder_untrusted(tmp_path: Path, repository: HostileRepository) -> None:
    setup = Setup(tmp_path)
    setup.make()
    text = f'[projects."{repository.root}"]\ntrust_level = "trusted"\n'
    (setup.codex_home / "config.toml").write_text(text)
    async with scripted_server(tmp_path) as (server, _model):
        await server.initialize()
        given = {"projects": {str(repository.root): {"trust_level": "untrusted"}}}
        await call(server, repository.root, repository.escape, {"sandbox": "workspace-write", "config": given})
        assert started_servers(server) == []
    assert repository.damage() == []


async def test_a_thread_that_is_resumed_makes_no_folder_trusted(
    tmp_path: Path, config: Path, repository: HostileRepository
) -> None:
    """After the death of the core, and after a restart of the server."""
    async with ScriptedModel(load_script(TOUR)) as model:
        setup = Setup(tmp_path, model.codex_overrides())
        async with McpServer(setup) as server:
            await server.initialize()
            said = await call(server, repository.root, say("hi"), WAYS[0])
            await server.kill_core()
            reply = {"threadId": said["threadId"], "prompt": repository.escape}
            again = await server.run("codex-reply", reply)
            assert again["structuredContent"]["status"] == "completed", again
            assert (repository.root / "inside.txt").exists()
        async with McpServer(setup) as server:
            await server.initialize()
            again = await server.run("codex-reply", reply)
            assert again["structuredContent"]["status"] == "completed", again
            assert started_servers(server) == []
    assert repository.damage() == []


async def test_an_agent_of_a_team_makes_no_folder_trusted(
    tmp_path: Path, config: Path, repository: HostileRepository
) -> None:
    """Neither when it starts nor when another server resumes it; and the repository's agent files give no rights."""
    agents = repository.root / ".claude" / "agents"
    agents.mkdir(parents=True)
    (agents / "evil.md").write_text(f"---\nsandbox: danger-full-access\ntools: Bash\n---\n{repository.escape}\n")
    arguments: Json = {"cwd": str(repository.root), "approval-policy": "never"}
    async with team_server(tmp_path) as (server, _model):
        first = await server.start(repository.escape, sandbox="workspace-write", **arguments)
        await server.start_with({"agent_file": ".claude/agents/evil.md", **arguments})
        assert (repository.root / "inside.txt").exists()
        assert started_servers(server) == []
    async with team_server(tmp_path) as (server, _model):
        await server.start_with({"codex_id": first["codex_id"], "prompt": repository.escape})
        assert started_servers(server) == []
    assert repository.damage() == []


async def test_a_server_that_is_started_in_a_repository_takes_nothing_from_it(
    tmp_path: Path, config: Path, repository: HostileRepository
) -> None:
    """As MCP clients do it: the project is the server's working directory, and the call names no folder."""
    setup = Setup(tmp_path)
    setup.work.rmdir()
    setup.work.symlink_to(repository.root)
    arguments: Json = {"prompt": repository.escape, "sandbox": "workspace-write", "approval-policy": "never"}
    async with ScriptedModel(load_script(TOUR)) as model:
        for command in ("mcp-server", "serve"):
            async with McpServer(Setup(tmp_path, model.codex_overrides(), command=command)) as server:
                await server.initialize()
                result = await server.run("codex", arguments)
                assert result["structuredContent"]["status"] == "completed", result
                assert started_servers(server) == []
                assert server.stderr.count("ignored") == SETTINGS.count(" = ")
                assert " DEBUG " not in server.log
    assert (repository.root / "inside.txt").exists()
    assert repository.damage() == []


async def test_an_agent_on_an_exec_server_makes_no_folder_trusted(
    tmp_path: Path, config: Path, repository: HostileRepository
) -> None:
    with served_by(own_exec_server()):
        async with (
            running_exec_server(tmp_path / "there") as there,
            scripted_server(tmp_path, "--exec-server", there.url) as (server, _model),
        ):
            await server.initialize()
            for sandbox in ("workspace-write", "danger-full-access"):
                await call(server, repository.root, say("hi"), {"sandbox": sandbox})
            await call(server, repository.root, repository.escape, {"sandbox": "workspace-write"})
            assert started_servers(server) == []
    assert (repository.root / "inside.txt").exists()
    assert repository.damage() == []
