"""The git that Codex itself runs, outside of the sandbox, in folders that agents and strangers have written."""

import json
import os
from pathlib import Path

import pytest

from tests.acceptance.team.test_worktrees import run
from tests.support.repositories import git, repository
from tests.support.servers.mcp_server import Json
from tests.support.team.fixtures import Team
from tests.support.team.scenes import TEAM_SCRIPT
from tests.support.team.team_server import TeamServer, say

ATTACK = """
mark=$1
rm -rf sub/.git
git init -q sub
cd sub
git config filter.evil.clean "touch $mark; cat"
git config core.fsmonitor "touch $mark; false"
echo '* filter=evil' >.gitattributes
git add b
touch -d 2020-01-01 b
echo attacked
"""

CONFINED: Json = {
    "sandbox": "workspace-write",
    "approval-policy": "never",
    "config": {"sandbox_workspace_write": {"exclude_slash_tmp": True, "exclude_tmpdir_env_var": True}},
}


@pytest.fixture(params=["repo", "home/.codex/worktrees/1/repo"])
def checkout(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    """A repository with a submodule in `sub`, and the attack on it; one also where Codex's own app has worktrees."""
    module = repository(tmp_path / "module", b="x\n")
    folder = repository(tmp_path / request.param, **{"a": "x\n", "attack.sh": ATTACK})
    git(folder, "-c", "protocol.file.allow=always", "submodule", "--quiet", "add", str(module), "sub")
    git(folder, "commit", "-qm", "adds a submodule")
    return folder


def recorded(server: TeamServer) -> list[Json]:
    """What Codex has recorded of git at the start of each thread."""
    files = sorted((server.setup.codex_home / "sessions").rglob("rollout-*.jsonl"))
    return [json.loads(file.read_text().partition("\n")[0])["payload"].get("git", {}) for file in files]


async def test_a_repository_that_an_agent_makes_among_its_files_runs_nothing(
    team: Team, checkout: Path, tmp_path: Path
) -> None:
    mark = tmp_path / "mark"
    async with team(script=TEAM_SCRIPT) as (server, _):
        done = await server.start(run(f"sh attack.sh {mark}"), identity="arch", cwd=str(checkout), **CONFINED)
        assert "attacked" in done["content"], done
        mark.unlink(missing_ok=True)  # its own git, in the sandbox, cannot write there; nobody else has run yet
        await server.reply("arch", say("next"))
        await server.start(say("hello"), identity="other", cwd=str(checkout / "sub"), **CONFINED)
        await server.reply("other", run("echo more >more.txt"))
        for who in ("arch", "other"):
            await server.run("codex_diff", {"id": who, "of": "uncommitted"})
            await server.run("codex_review", {"cwd": str(checkout)})
        assert recorded(server)[0]["commit_hash"] == git(checkout, "rev-parse", "HEAD")
        assert recorded(server)[0]["branch"] == "main"
    assert not mark.exists()


@pytest.mark.parametrize("sandbox", ["read-only", "workspace-write"])
async def test_the_filters_of_an_unpacked_repository_do_not_run(team: Team, tmp_path: Path, sandbox: str) -> None:
    mark = tmp_path / "mark"
    folder = repository(tmp_path / "repo", **{"a": "x\n", ".gitattributes": "* filter=evil\n"})
    git(folder, "config", "filter.evil.clean", f"touch {mark}; cat")
    os.utime(folder / "a", (0, 0))  # so that git reads it again
    async with team(script=TEAM_SCRIPT) as (server, _):
        await server.start(say("hello"), identity="arch", cwd=str(folder), **{**CONFINED, "sandbox": sandbox})
        await server.reply("arch", run("cat a"))
        await server.reply("arch", say("bye"))
    assert not mark.exists()


async def test_commands_of_agents_get_git_as_it_is(team: Team, tmp_path: Path) -> None:
    folder = repository(tmp_path / "repo")
    async with team(script=TEAM_SCRIPT) as (server, _):
        text = "echo b >b; git add b && git commit -qm made-by-agent; git status --porcelain; git log --format=%s -1"
        done = await server.start(
            run(f"{text}; git -c safe.bareRepository=explicit rev-parse --show-toplevel"),
            **{"identity": "arch", "cwd": str(folder), "sandbox": "danger-full-access", "approval-policy": "never"},
        )
        assert "made-by-agent" in done["content"], done
        assert str(folder) in done["content"]
        last = await server.reply("arch", run("git commit -q --allow-empty -m second"))
        assert git(folder, "log", "--format=%s", "-1") == "second", last
