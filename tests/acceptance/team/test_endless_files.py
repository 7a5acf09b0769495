"""Files without an end in the places that repositories, agents and clients can write: every call is answered."""

import signal
from pathlib import Path

import pytest

from tests.support.endless import HUGE, KINDS, peak, put
from tests.support.repositories import repository
from tests.support.servers.mcp_server import Json, Setup
from tests.support.team.fixtures import Team
from tests.support.team.scenes import TEAM_SCRIPT
from tests.support.team.team_server import TeamServer, refusal, say

WRITING: Json = {"worktree": True, "sandbox": "workspace-write", "approval-policy": "never"}


async def assert_well(server: TeamServer) -> None:
    """It answers, it has not read much, and it ends when it is told to."""
    assert "prompts" in await server.result(server.request("prompts/list", {}))
    assert peak(server.process.pid) < HUGE // 4
    server.signal(signal.SIGTERM)
    assert await server.process.wait() == 0


@pytest.mark.parametrize("kind", KINDS)
async def test_an_agent_is_closed_whatever_it_left_in_its_git_folder(team: Team, tmp_path: Path, kind: str) -> None:
    checkout = repository(tmp_path / "repo")
    async with team(script=TEAM_SCRIPT) as (server, _):
        await server.start(say("hello"), identity="arch", cwd=str(checkout), **WRITING)
        (own,) = server.state_dir.glob(".worktrees/arch-*/.git")
        for folder in (own, checkout / ".git"):
            put(folder / "logs/HEAD", kind)
            put(folder / "config.worktree", kind)
        answer = await server.answer(server.call("codex_close", {"identity": "arch"}))
        assert "result" in answer
        await assert_well(server)


@pytest.mark.parametrize("kind", KINDS)
async def test_prompts_and_agent_files_without_an_end_are_skipped_or_refused(
    team: Team, tmp_path: Path, kind: str
) -> None:
    work, users = tmp_path / "work", tmp_path / "home/.codex/prompts"
    put(work / ".codex/prompts/endless.md", kind)
    put(users / "endless.md", kind)
    (users / "good.md").write_text("Say hello.")
    put(work / ".claude/agents/endless.md", kind)
    async with team(script=TEAM_SCRIPT) as (server, _):
        listed = (await server.result(server.request("prompts/list", {})))["prompts"]
        assert [prompt["name"] for prompt in listed] == ["good"]
        asked = {"prompt": "x", "agent_file": ".claude/agents/endless.md", "cwd": str(work)}
        assert "cannot" in refusal(await server.run("codex", asked))
        await assert_well(server)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("place", ["work/.atm.toml", "home/.config/atm/config.toml"])
async def test_settings_without_an_end_are_named_at_the_start(tmp_path: Path, kind: str, place: str) -> None:
    put(tmp_path / place, kind)
    async with TeamServer(Setup(tmp_path, command="serve")) as server:
        answer = await server.answer(server.request("initialize", {}))
        if kind == "huge" or place.startswith("home"):  # in a project, only regular files are settings
            assert str(tmp_path / place) in answer["error"]["message"]
