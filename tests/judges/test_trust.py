"""With the oldest and the newest Codex as our core, a repository runs nothing and gains no trust through a call."""

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.support.clients.judges import newest_codex, package
from tests.support.processes import the_core
from tests.support.servers.mcp_server import Json, Setup, scripted_server
from tests.support.team.hostile_repository import hostile_repository

USERS_CONFIG = "# The user's own file.\n"


def old_codex() -> str:
    return str(package("codex-old") / "bin/codex.js")


@pytest.mark.parametrize("program", [old_codex, newest_codex])
async def test_no_call_makes_a_repository_run_anything(tmp_path: Path, program: Callable[[], object]) -> None:
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
    async with scripted_server(tmp_path, "--codex-bin", str(program())) as (server, _model):
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


async def test_the_newest_codex_takes_overrides_that_are_not_on_its_command_line(tmp_path: Path) -> None:
    """Its model's token among them: it is asked for with each thread, and the provider is known from the start."""
    overrides = ['shell_environment_policy.set.WORD="of-mouth"']
    flags = ("--codex-bin", str(newest_codex()))
    async with scripted_server(tmp_path, *flags, overrides=overrides) as (server, model):
        await server.initialize()
        result = await server.run("codex", {"prompt": '[[scene: run cmd="echo $WORD"]]'})
        assert "of-mouth" in result["structuredContent"]["content"], result
        core = the_core(server.setup.home)
        assert "of-mouth" not in " ".join(core.argv)
        assert "bearer" not in " ".join(core.argv)
        assert model.requests
