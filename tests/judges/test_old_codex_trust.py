"""With Codex 0.153.4 as our core, a repository runs nothing and gains no trust through a call either."""

from pathlib import Path

from tests.support.hostile_repository import hostile_repository
from tests.support.judges import package
from tests.support.mcp_server import Json, Setup, scripted_server

USERS_CONFIG = "# The user's own file.\n"


async def test_no_call_makes_a_repository_run_anything(tmp_path: Path) -> None:
    folder = tmp_path / "clone"
    folder.mkdir()
    repository = hostile_repository(folder)
    setup = Setup(tmp_path)
    setup.make()
    config = setup.codex_home / "config.toml"
    config.write_text(USERS_CONFIG)
    ways: list[Json] = [
        {"sandbox": "workspace-write"},
        {"sandbox": "danger-full-access"},
        {"config": {"sandbox_mode": "workspace-write"}},
    ]
    async with scripted_server(tmp_path, "--codex-bin", str(package("codex-old") / "bin/codex.js")) as (server, _model):
        await server.initialize()
        for place in repository.folders:
            for way in ways:
                arguments = {"prompt": "hi", "cwd": str(place), "approval-policy": "never", **way}
                result = await server.run("codex", arguments)
                assert result["structuredContent"]["status"] == "completed", result
        result = await server.run("codex", {"prompt": repository.escape, "cwd": str(repository.root), **ways[0]})
        assert result["structuredContent"]["status"] == "completed", result
        trusting = {"projects": {str(repository.root): {"trust_level": "trusted"}}}
        refused = await server.run("codex", {"prompt": "hi", "cwd": str(repository.root), "config": trusting})
        assert refused["isError"]
    assert (repository.root / "inside.txt").exists()
    assert repository.damage() == []
    assert config.read_text() == USERS_CONFIG
