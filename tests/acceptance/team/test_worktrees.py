"""Agents in worktrees of their own, on the real Codex and its sandbox: nothing is lost, and nothing is half-made."""

import json
import shutil
import signal
from pathlib import Path

import pytest

from tests.support.repositories import branches, commit, git, repository
from tests.support.servers.commands import command
from tests.support.servers.mcp_server import Json
from tests.support.team.fixtures import Team
from tests.support.team.scenes import TEAM_SCRIPT
from tests.support.team.team_server import TeamServer, refusal, say, structured

WRITING: Json = {
    "worktree": True,
    "sandbox": "workspace-write",
    "approval-policy": "never",
    # The folders of tests are temporary ones, which the sandbox would otherwise let every agent write.
    "config": {"sandbox_workspace_write": {"exclude_slash_tmp": True, "exclude_tmpdir_env_var": True}},
}


def run(command: str) -> str:
    return f'[[scene: run cmd="{command}"]]'


COMMIT = run("echo new >new.txt; git add new.txt; git commit -qm made-by-agent; git log --oneline -1")


def ours(server: TeamServer) -> list[str]:
    """The files of agents that are still there."""
    return sorted(str(path) for path in (server.state_dir / ".worktrees").glob("*/tree"))


async def test_an_agent_commits_in_its_worktree_and_close_keeps_the_branch(team: Team, tmp_path: Path) -> None:
    checkout = repository(tmp_path / "repo")
    async with team(script=TEAM_SCRIPT) as (server, _):
        done = await server.start(COMMIT, identity="arch", cwd=str(checkout), **WRITING)
        assert "made-by-agent" in done["content"], done
        work = done["worktree"]
        assert (work["branch"], work["commits"]) == ("codex/arch", 1)
        assert work["log"][0].endswith(" made-by-agent")
        assert work["diffstat"] == "1 file changed, 1 insertion(+)"
        assert [(file["kind"], file["lines"]) for file in done["filesChanged"]] == [("add", "+1 -0")]
        assert done["filesChanged"][0]["path"] == f"{work['path']}/new.txt"
        assert not (checkout / "new.txt").exists()
        closed = await server.run("codex_close", {"identity": "arch"})
        assert structured(closed)["worktree"] == {"branch": "codex/arch", "path": None}
        assert "Its branch codex/arch is kept; its worktree is removed." in closed["content"][0]["text"]
        assert ours(server) == []
        assert git(checkout, "show", "codex/arch:new.txt") == "new"
        again = await server.start_with({"codex_id": done["codex_id"], "prompt": run("cat new.txt; git status -sb")})
        assert "new" in again["content"], again
        assert "## codex/arch" in again["content"]
        more = await server.reply(
            "arch", run("echo more >more.txt; git add .; git commit -qm second; git log --oneline -1")
        )
        assert "second" in more["content"], more
        assert more["worktree"]["commits"] == 2


async def test_the_sandbox_protects_hooks_settings_and_other_branches(team: Team, tmp_path: Path) -> None:
    checkout = repository(tmp_path / "repo")
    main = git(checkout, "rev-parse", "main")
    attempts = (
        f"cd {checkout}/.git; touch hooks/post-checkout; echo x >>config; cp HEAD refs/heads/main; touch ../escaped;"
        " echo tried"
    )
    async with team(script=TEAM_SCRIPT) as (server, _):
        done = await server.start(run(attempts), identity="arch", cwd=str(checkout), **WRITING)
        assert "tried" in done["content"], done
        assert "Read-only file system" in done["content"]
    assert git(checkout, "rev-parse", "main") == main
    assert not (checkout / ".git/hooks/post-checkout").exists()
    assert not (checkout / "escaped").exists()


async def test_a_dirty_worktree_is_kept_and_close_says_where(team: Team, tmp_path: Path) -> None:
    checkout = repository(tmp_path / "repo")
    async with team(script=TEAM_SCRIPT) as (server, _):
        done = await server.start(run("echo x >left.txt"), identity="arch", cwd=str(checkout), **WRITING)
        folder = Path(done["worktree"]["path"])
        closed = await server.run("codex_close", {"identity": "arch"})
        assert f"still in {folder}: it has 1 file with uncommitted changes" in closed["content"][0]["text"]
        assert structured(closed)["worktree"]["path"] == str(folder)
        assert (folder / "left.txt").read_text() == "x\n"
        again = await server.start_with({"codex_id": done["codex_id"], "prompt": run("rm left.txt; echo ok")})
        assert "ok" in again["content"]
        assert (await server.close_agent("arch"))["worktree"]["path"] is None
        assert ours(server) == []


async def test_agents_of_one_name_after_another_get_branches_of_their_own(team: Team, tmp_path: Path) -> None:
    checkout = repository(tmp_path / "repo", **{"sub/deep/a": "x\n"})
    async with team(script=TEAM_SCRIPT) as (server, _):
        first = await server.start(COMMIT, identity="arch", cwd=str(checkout / "sub/deep"), **WRITING)
        assert first["filesChanged"][0]["path"].endswith("/sub/deep/new.txt")
        await server.close_agent("arch")
        second = await server.start(say("hi"), identity="arch", cwd=str(checkout), **WRITING)
        assert second["worktree"] == {
            "path": second["worktree"]["path"],
            "branch": "codex/arch-2",
            "commits": 0,
            "log": [],
            "diffstat": "",
        }


async def test_a_copy_of_an_agent_gets_a_worktree_of_its_own_if_the_call_says_so(team: Team, tmp_path: Path) -> None:
    checkout = repository(tmp_path / "repo")
    async with team(script=TEAM_SCRIPT) as (server, _):
        arch = await server.start(COMMIT, identity="arch", cwd=str(checkout), **WRITING)
        copy = await server.start(COMMIT.replace("new", "twin"), fork_from="arch", identity="twin", worktree=True)
        assert "made-by-agent" in copy["content"], copy
        assert copy["worktree"]["path"] != arch["worktree"]["path"]
        assert (copy["worktree"]["branch"], copy["worktree"]["commits"]) == ("codex/twin", 1)
        index = Path(arch["worktree"]["path"]).parent / ".git/index"
        tried = await server.reply("twin", run(f"echo x >>{index}; echo tried"))  # the git folder of the other one
        assert "Read-only file system" in tried["content"], tried
        same = await server.start(say("hi"), fork_from="twin", identity="same")
        assert same["worktree"]["path"] == copy["worktree"]["path"]
        closed = await server.run("codex_close", {"id": "twin"})
        assert f"still in {copy['worktree']['path']}: it has other agents in it: same." in closed["content"][0]["text"]
        assert "still here" in (await server.reply("same", run("cat twin.txt; echo still here")))["content"]
        assert "worktree" not in await server.close_agent("same")
        assert (await server.close_agent("arch"))["worktree"]["path"] is None
        gone = await server.run("codex", {"prompt": "x", "fork_from": arch["codex_id"]})
        assert f"its folder {arch['worktree']['path']} is gone; name another one in `cwd`" in refusal(gone)
        there = await server.start(run("pwd"), fork_from=arch["codex_id"], cwd=str(checkout))
        assert f"{checkout}\n" in there["content"], there
        assert "worktree" not in there
    assert git(checkout, "log", "--format=%s", "main..codex/twin").splitlines() == ["made-by-agent"] * 2


@pytest.mark.parametrize(
    "trouble",
    [
        *("no repository", "no commit", "bare", "branch codex", "not committed", "missing git"),
        *("uncommitted changes", "staged changes", "submodules", "detached"),
    ],
)
async def test_what_cannot_work_is_refused_and_nothing_is_half_made(team: Team, tmp_path: Path, trouble: str) -> None:
    checkout, environment, cwd = tmp_path / "repo", {}, tmp_path / "repo"
    if trouble == "no repository":
        checkout.mkdir()
    elif trouble in ("no commit", "bare"):
        checkout.mkdir()
        git(checkout, "init", "-q", *(["--bare"] if trouble == "bare" else []))
    else:
        repository(checkout, **{"a": "x\n", **({".gitmodules": ""} if trouble == "submodules" else {})})
    if trouble == "detached":
        git(checkout, "checkout", "-q", "--detach")
    elif trouble in ("uncommitted changes", "staged changes"):
        (checkout / "a").write_text("changed\n")
        git(checkout, *(["add", "a"] if trouble == "staged changes" else ["status"]))
    elif trouble == "branch codex":
        git(checkout, "branch", "codex")
    elif trouble == "not committed":
        cwd = checkout / "new"
        cwd.mkdir()
    elif trouble == "missing git":
        (tmp_path / "empty").mkdir()
        environment = {"PATH": str(tmp_path / "empty")}
    words = {
        "no repository": "it is not in a git repository",
        "no commit": "has no commit yet",
        "bare": "it is a bare repository",
        "branch codex": "a branch is called codex",
        "not committed": "new is not in the commit that is checked out",
        "missing git": "git is not installed",
        "uncommitted changes": "1 file has uncommitted changes",
        "staged changes": "1 file has uncommitted changes",
        "submodules": "the repository has submodules",
        "detached": "a detached HEAD",
    }
    async with team(script=TEAM_SCRIPT, environment=environment) as (server, _):
        result = await server.run("codex", {"prompt": say("hi"), "identity": "arch", "cwd": str(cwd), "worktree": True})
        assert words[trouble] in refusal(result)
        assert await server.threads() == {}
        assert leftovers(server) == []
        if words[trouble] not in ("it is not in a git repository", "has no commit yet", "it is a bare repository"):
            assert ours(server) == []
            assert branches(checkout) == sorted({"main", *(["codex"] if trouble == "branch codex" else [])})


def leftovers(server: TeamServer) -> list[str]:
    folder = server.state_dir / ".worktrees"
    return sorted(path.name for path in folder.iterdir()) if folder.exists() else []


async def test_untracked_files_of_the_checkout_do_not_matter(team: Team, tmp_path: Path) -> None:
    checkout = repository(tmp_path / "repo", a="x\n")
    (checkout / "notes.txt").write_text("mine\n")
    async with team(script=TEAM_SCRIPT) as (server, _):
        done = await server.start(say("hi"), identity="arch", cwd=str(checkout), worktree=True)
        assert done["worktree"]["branch"] == "codex/arch"
        assert not (Path(done["worktree"]["path"]) / "notes.txt").exists()


async def test_a_hostile_repository_runs_nothing_when_a_worktree_is_made(team: Team, tmp_path: Path) -> None:
    checkout = repository(tmp_path / "repo", **{"a": "x\n", ".gitattributes": "* filter=evil\n"})
    for hook in ("post-checkout", "reference-transaction", "post-index-change"):
        (checkout / ".git/hooks" / hook).write_text(f"#!/bin/sh\necho {hook} >>{tmp_path}/damage\n")
        (checkout / ".git/hooks" / hook).chmod(0o755)
    for key in ("filter.evil.smudge", "core.fsmonitor"):  # Codex itself runs a `clean`, in every folder
        git(checkout, "config", key, f"echo {key} >>{tmp_path}/damage; cat")
    async with team(script=TEAM_SCRIPT) as (server, _):
        done = await server.start(say("hi"), identity="arch", cwd=str(checkout), **WRITING)
        assert done["worktree"]["branch"] == "codex/arch"
        assert (await server.close_agent("arch"))["worktree"]["path"] is None
    damage = tmp_path / "damage"
    assert not damage.exists(), damage.read_text()


async def test_a_killed_server_leaves_a_worktree_that_is_resumed_listed_and_pruned(team: Team, tmp_path: Path) -> None:
    checkout = repository(tmp_path / "repo")
    async with team(script=TEAM_SCRIPT) as (server, _):
        clean = await server.start(COMMIT, identity="arch", cwd=str(checkout), **WRITING)
        dirty = await server.start(run("echo x >left.txt"), identity="bee", cwd=str(checkout), **WRITING)
        server.signal(signal.SIGKILL)
        await server.process.wait()
        listed = json.loads(command(server.setup.home, "threads", "--json").stdout)
        assert {each["identity"]: each["holds"] for each in listed["worktrees"]} == {
            "arch": None,
            "bee": "1 file with uncommitted changes",
        }
    async with team(script=TEAM_SCRIPT) as (server, _):
        again = await server.reply("arch", run("git log --oneline -1"))
        assert "made-by-agent" in again["content"], again
        server.signal(signal.SIGKILL)
        await server.process.wait()
        pruned = command(server.setup.home, "threads", "--prune", "--older-than", "0").stdout
        assert f"worktree {dirty['worktree']['path']} kept: it has 1 file with uncommitted changes" in pruned
    assert ours(server) == [dirty["worktree"]["path"]]
    assert branches(checkout) == ["codex/arch", "codex/bee", "main"]
    assert clean["worktree"]["branch"] == "codex/arch"


async def test_a_removed_folder_and_a_branch_checked_out_elsewhere_do_not_stop_a_resume(
    team: Team, tmp_path: Path
) -> None:
    checkout = repository(tmp_path / "repo")
    async with team(script=TEAM_SCRIPT) as (server, _):
        done = await server.start(COMMIT, identity="arch", cwd=str(checkout), **WRITING)
        await server.close_agent("arch")
        git(checkout, "checkout", "-q", "codex/arch")
        commit(checkout, "by-person", "x\n")
        again = await server.start_with({"codex_id": done["codex_id"], "prompt": run("ls; git status -sb")})
        assert "by-person" in again["content"], again
        assert "## codex/arch-2" in again["content"]
        assert "The agent goes on in branch codex/arch-2" in "\n".join(again["warnings"])
        shutil.rmtree(again["worktree"]["path"])
        assert (await server.close_agent("arch"))["worktree"]["path"] is None
        assert ours(server) == []


async def test_a_setting_gives_every_agent_a_worktree_and_a_call_can_decide_otherwise(
    team: Team, tmp_path: Path
) -> None:
    checkout = repository(tmp_path / "repo")
    async with team("--worktree", "yes", script=TEAM_SCRIPT) as (server, _):
        first = await server.start(say("hi"), identity="arch", cwd=str(checkout))
        assert first["worktree"]["branch"] == "codex/arch"
        second = await server.start(say("hi"), identity="bee", cwd=str(checkout), worktree=False)
        assert "worktree" not in second
        assert (await server.threads())[second["codex_id"]]["cwd"] == str(checkout)


async def test_the_server_s_own_end_keeps_worktrees_for_a_resume(team: Team, tmp_path: Path) -> None:
    checkout = repository(tmp_path / "repo")
    async with team(script=TEAM_SCRIPT) as (server, _):
        done = await server.start(COMMIT, identity="arch", cwd=str(checkout), **WRITING)
    assert ours(server) == [done["worktree"]["path"]]
    async with team(script=TEAM_SCRIPT) as (server, _):
        again = await server.start_with({"codex_id": done["codex_id"], "prompt": COMMIT.replace("new", "more")})
        assert again["worktree"]["commits"] == 2, again
