"""What agents have changed: in results, and by `codex_diff`, on the real Codex, over stdio and HTTP."""

import shutil
from pathlib import Path

import pytest

from tests.support.repositories import git, repository
from tests.support.servers.mcp_server import Json
from tests.support.team.fixtures import Team
from tests.support.team.scenes import TEAM_SCRIPT
from tests.support.team.team_server import TeamServer, refusal, say, structured

WRITING: Json = {"sandbox": "workspace-write", "approval-policy": "never"}


def run(command: str) -> str:
    return f'[[scene: run cmd="{command}"]]'


async def diff(server: TeamServer, who: str, **arguments: object) -> str:
    result = await server.run("codex_diff", {"id": who, **arguments})
    text: str = result["content"][0]["text"]
    assert not result.get("isError"), text
    return text


async def test_files_that_commands_changed_are_listed_and_shown(team: Team, tmp_path: Path) -> None:
    checkout = repository(tmp_path / "repo", a="1\n2\n", b="x\n")
    (checkout / "earlier").write_text("untracked\n")
    async with team(script=TEAM_SCRIPT) as (server, _):
        done = await server.start(
            run("echo 3 >>a; rm b; mkdir -p s; echo n >s/n"), identity="arch", cwd=str(checkout), **WRITING
        )
        changed = {
            file["path"].removeprefix(f"{checkout}/"): (file["kind"], file["lines"]) for file in done["filesChanged"]
        }
        assert changed.pop("earlier", None) in (None, ("add", "+1 -0"))  # if it was made in the same step of the clock
        assert changed == {"a": ("update", "+1 -0"), "b": ("delete", "+0 -1"), "s/n": ("add", "+1 -0")}
        shown = await diff(server, "arch")
        assert "+3\n" in shown
        assert "deleted file mode" in shown
        assert "b/s/n" in shown
        assert "s/n" in await diff(server, done["codex_id"], stat=True)
        assert "+untracked" in await diff(server, "arch", of="uncommitted")
        assert (await server.reply("arch", say("nothing to do")))["filesChanged"] == []
        assert await diff(server, "arch") == "Nothing has changed."


async def test_a_long_diff_is_cut_at_a_line_and_says_how_to_get_the_rest(team: Team, tmp_path: Path) -> None:
    checkout = repository(tmp_path / "repo")
    async with team(script=TEAM_SCRIPT) as (server, _):
        await server.start(run("seq 20000 >long"), identity="arch", cwd=str(checkout), **WRITING)
        text = await diff(server, "arch")
        assert len(text) < 41_000
        shown, _, note = text.rpartition("\n(")
        assert shown.splitlines()[-1].removeprefix("+").isdigit()
        assert (
            f"`git -C {checkout} diff {git(checkout, 'rev-parse', 'HEAD')}` shows all of it, except for new files"
            in note
        )


async def test_what_another_agent_may_have_changed_is_marked(team: Team, tmp_path: Path) -> None:
    checkout = repository(tmp_path / "repo")
    async with team(script=TEAM_SCRIPT) as (server, _):
        waits = run("touch begun; while [ ! -e from_bee.txt ]; do sleep 0.1; done; echo x >from_arch.txt")
        arch = await server.start(waits, identity="arch", cwd=str(checkout), background=True, **WRITING)
        await server.until((checkout / "begun").exists)
        bee = await server.start(run("echo x >from_bee.txt"), identity="bee", cwd=str(checkout), **WRITING)
        (done,) = structured(await server.run("codex_wait", {"ids": [arch["codex_id"]]}))["finished"]
        seen = {Path(file["path"]).name: file.get("certain") for file in done["filesChanged"]}
        assert {name: seen[name] for name in ("from_bee.txt", "from_arch.txt")} == {
            "from_bee.txt": False,
            "from_arch.txt": False,
        }
        assert [file for file in bee["filesChanged"] if file.get("certain") is not False] == []
        alone = await server.reply("bee", run("echo y >>from_bee.txt"))
        assert [file.get("certain", True) for file in alone["filesChanged"]][-1:] == [True]


async def test_links_are_part_of_the_diff_of_a_turn(team: Team, tmp_path: Path) -> None:
    checkout = repository(tmp_path / "repo", a="x\n", b="x\n")
    async with team(script=TEAM_SCRIPT) as (server, _):
        await server.start(run("ln -s a new; ln -sf a b"), identity="arch", cwd=str(checkout), **WRITING)
        shown = await diff(server, "arch")
        assert "b/new" in shown
        assert "b/b" in shown
        assert "new file mode 120000" in shown


async def test_a_worktree_that_somebody_removed_is_made_again_and_its_diff_is_that_of_its_branch(
    team: Team, tmp_path: Path
) -> None:
    checkout = repository(tmp_path / "repo")
    async with team(script=TEAM_SCRIPT) as (server, _):
        commit = run("echo x >new.txt; git add new.txt; git commit -qm made-by-agent")
        config = {"sandbox_workspace_write": {"exclude_slash_tmp": True, "exclude_tmpdir_env_var": True}}
        options = {**WRITING, "worktree": True, "config": config}
        done = await server.start(commit, identity="arch", cwd=str(checkout), **options)
        for removed in (Path(done["worktree"]["path"]), Path(done["worktree"]["path"]).parent):
            shutil.rmtree(removed)
            assert "b/new.txt" in await diff(server, "arch", of="thread")
            again = await server.reply("arch", run("cat new.txt; git log --oneline -1"))
            assert "made-by-agent" in again["content"], again
            assert "was gone; it was made again from the agent's branch" in "\n".join(again["warnings"])
        assert "warnings" not in await server.reply("arch", run("ls"))


async def test_outside_of_git_there_are_only_patches(team: Team, tmp_path: Path) -> None:
    folder = tmp_path / "plain"
    folder.mkdir()
    async with team(script=TEAM_SCRIPT) as (server, _):
        done = await server.start(run("echo x >a"), identity="arch", cwd=str(folder), **WRITING)
        assert done["filesChanged"] == []
        only = "There are no patches. What its commands changed is not known here."
        assert await diff(server, "arch", of="thread") == only
        refused = await server.run("codex_diff", {"id": "arch", "of": "uncommitted"})
        assert "is not in a git repository" in refusal(refused)
        assert "unknown" in refusal(await server.run("codex_diff", {"id": "unknown"}))


async def test_the_diff_of_a_worktree_outlives_the_worktree(team: Team, tmp_path: Path) -> None:
    checkout = repository(tmp_path / "repo")
    async with team(script=TEAM_SCRIPT) as (server, _):
        commands = "echo one >one; git add one; git commit -qm one; echo two >two"
        done = await server.start(run(commands), identity="arch", cwd=str(checkout), worktree=True, **WRITING)
        assert {"+one", "+two"} <= set((await diff(server, "arch", of="thread")).splitlines())
        assert "+one" not in await diff(server, "arch", of="uncommitted")
        await server.reply("arch", run("rm two"))
        await server.close_agent("arch")
        stopped = structured(await server.run("codex_interrupt", {"id": done["codex_id"]}))
        assert (stopped["status"], "is closed; nothing was stopped" in stopped["content"]) == ("closed", True)
        unknown = await diff(server, done["codex_id"])
        assert unknown.startswith("There are no patches of its last turn.")
        assert unknown.endswith("; `of: thread` shows everything since the agent began.")
        assert "+one" in await diff(server, done["codex_id"], of="thread")
        gone = await server.run("codex_diff", {"id": done["codex_id"], "of": "uncommitted"})
        assert "the worktree of arch is gone; `of: thread` shows" in refusal(gone)


@pytest.mark.parametrize("name", ["id", "codex_id", "identity", "threadId"])
async def test_every_tool_that_takes_an_agent_accepts_each_of_its_names(team: Team, tmp_path: Path, name: str) -> None:
    checkout = repository(tmp_path / "repo")
    async with team(script=TEAM_SCRIPT) as (server, _):
        done = await server.start(run("echo x >>a"), identity="arch", cwd=str(checkout), **WRITING)
        await server.start(say("another"), identity="dev")
        who = {name: done["codex_id" if name == "id" else name]}
        (row,) = structured(await server.run("codex_threads", who))["threads"]
        waited = structured(await server.run("codex_wait", {**who, "again": True, "timeout-seconds": 0}))
        reviewed = structured(await server.run("codex_review", who))
        assert (row["identity"], waited["finished"][0]["identity"]) == ("arch", "arch")
        assert (reviewed["status"], reviewed["findings"]) == ("completed", [])
        for tool in ("codex_diff", "codex_interrupt", "codex_close"):
            assert "isError" not in await server.run(tool, who)
        assert "exclude each other" in refusal(await server.run("codex_review", {**who, "cwd": str(checkout)}))
