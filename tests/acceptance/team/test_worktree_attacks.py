"""A hostile agent in its worktree, on the real Codex and its sandbox.

It attacks with everything that it can write, against every run of git outside of the sandbox: ours, Codex's own, and
those of the user and of the lead.
"""

from pathlib import Path

import pytest

from tests.acceptance.team.test_worktrees import WRITING, run
from tests.support.repositories import branches, git, repository
from tests.support.servers.commands import command
from tests.support.team.fixtures import Team
from tests.support.team.scenes import TEAM_SCRIPT
from tests.support.team.team_server import refusal

SUPPORT = Path(__file__).parents[2] / "support/team"


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    attack, places = [(SUPPORT / name).read_text() for name in ("worktree_attacks.sh", "writable_places.py")]
    files = {"a": "x\n", "sub/deep/b": "x\n", "attack.sh": attack, "places.py": places}
    folder = repository(tmp_path / "repo", **files)
    git(folder, "config", "core.hooksPath", ".husky")  # as a popular tool for hooks does it
    return folder


@pytest.mark.parametrize("folder", ["", "sub/deep"])
async def test_nothing_that_an_agent_writes_runs_outside_of_its_sandbox(
    team: Team, checkout: Path, tmp_path: Path, folder: str
) -> None:
    mark = tmp_path / "mark"
    before = {path: path.read_bytes() for path in (checkout / ".git").rglob("*") if path.is_file()}
    async with team(script=TEAM_SCRIPT) as (server, _):
        up = "/".join(".." for _ in folder.split("/") if folder) or "."
        attack = run(f"sh {up}/attack.sh {mark}")
        done = await server.start(attack, identity="arch", cwd=str(checkout / folder), **WRITING)
        assert "committed" in done["content"], done
        assert "attacked" in done["content"]
        tree = Path(done["worktree"]["path"])
        assert done["worktree"]["branch"] == "codex/renamed"
        assert not mark.exists()
        again = await server.reply("arch", run("cat honest.txt; echo next >next.txt"))
        assert "honest" in again["content"], again
        for of in ("turn", "thread", "uncommitted"):
            await server.run("codex_diff", {"id": "arch", "of": of})
        await server.run("codex_review", {"cwd": str(tree)})
        await server.run("codex_review", {"cwd": str(tree / folder)})
        assert not mark.exists()
        for words in ("status", "diff HEAD", "log -p --all", "stash list"):
            git(tree, *words.split())
            git(tree / folder, *words.split())
        for words in ("add -A", "status", "diff --cached", "reset -q"):
            git(tree, *words.split())
        assert not mark.exists()
        closed = await server.close_agent("arch")
        assert closed["worktree"]["path"] == str(tree), closed
        await server.start_with({"codex_id": done["codex_id"], "prompt": run("echo here")})
        await server.close_agent("arch")
        command(server.setup.home, "threads", "--prune", "--older-than", "0")
    assert not mark.exists()
    assert git(checkout, "show", f"codex/renamed:{Path(folder) / 'honest.txt'}") == "honest"
    assert branches(checkout) == ["codex/renamed", "main"]
    for path, data in before.items():
        assert path.read_bytes() == data, path
    assert git(checkout, "fsck", "--strict", "--no-dangling") == ""
    assert git(checkout, "status", "--porcelain") == ""


async def test_an_agent_can_write_its_files_and_its_own_repository_and_nothing_else(
    team: Team, checkout: Path, tmp_path: Path
) -> None:
    async with team(script=TEAM_SCRIPT) as (server, _):
        look = run(f"python3 places.py {tmp_path} >found.txt; wc -l found.txt")
        done = await server.start(look, identity="arch", cwd=str(checkout), **WRITING)
        tree = Path(done["worktree"]["path"])
        found = (tree / "found.txt").read_text().splitlines()
    places = [Path(line.removeprefix("writable: ")) for line in found]
    assert tree / "a" in places
    assert tree.parent / ".git/HEAD" in places
    # The control socket has no contents; who may connect to it is a matter of test_control_socket_guards.
    sockets = [path for path in places if path.parent == server.state_dir / "nodes" and path.suffix == ".sock"]
    allowed = (tree, tree.parent / ".git", *sockets)
    assert [path for path in places if not any(path.is_relative_to(place) for place in allowed)] == []
    assert [path for path in places if path.is_relative_to(tree / ".git")] == []


@pytest.mark.parametrize("sandbox", ["read-only", "danger-full-access"])
async def test_agents_in_other_sandboxes_use_what_everyone_sees(team: Team, checkout: Path, sandbox: str) -> None:
    async with team(script=TEAM_SCRIPT) as (server, _):
        options = {"worktree": True, "sandbox": sandbox, "approval-policy": "never"}
        text = run(
            "git status -sb; echo x >new.txt && git add new.txt && git commit -qm made-by-agent; git log --oneline -1"
        )
        done = await server.start(text, identity="arch", cwd=str(checkout), **options)
        assert "## codex/arch" in done["content"], done
        assert done["worktree"]["commits"] == (0 if sandbox == "read-only" else 1)
        assert (await server.close_agent("arch"))["worktree"]["path"] is None
    assert git(checkout, "log", "--format=%s", "main..codex/arch") == (
        "" if sandbox == "read-only" else "made-by-agent"
    )


SWAP = """
import ctypes, os, sys
libc = ctypes.CDLL(None, use_errno=True)
victim = sys.argv[1]
os.makedirs("../../other", exist_ok=True)
def tried(name, act):
    try:
        act()
        print("done:", name)
    except OSError as exc:
        print("refused:", name, exc.errno)
def exchange(one, other):
    if libc.renameat2(-100, one.encode(), -100, other.encode(), 2):
        raise OSError(ctypes.get_errno(), one)
for place in (os.getcwd(), os.path.dirname(os.getcwd()), os.path.dirname(os.path.dirname(os.getcwd()))):
    tried("rename", lambda: os.rename(place, place + ".away"))
    tried("rmdir", lambda: os.rmdir(place))
    tried("replace", lambda: os.rename(os.path.join(place, "../other"), place))
    tried("exchange", lambda: exchange(place, "../../other"))
    tried("link", lambda: os.symlink(victim, place))
for name in (".git", ".agents", ".codex", "../.git", "../.codex", "../../.agents", "../../.codex"):
    tried("protected", lambda: os.makedirs(name) or open(name + "/config", "x"))
for name in ("mine", "../mine", "../../mine"):
    open(name, "w").close()
print("written")
"""


async def test_the_folder_of_an_agent_cannot_become_a_link(team: Team, tmp_path: Path) -> None:
    """Its commands cannot replace it, or a folder on the way to it; a link that it commits there ends a resume."""
    checkout = repository(tmp_path / "repo", **{"sub/deep/b": "x\n", "sub/deep/swap.py": SWAP})
    victim = repository(tmp_path / "victim", **{"deep/mine": "mine\n"})
    plant = (
        f"python3 swap.py {victim}; rm ../mine ../../mine mine; rmdir ../../other;"
        f" export GIT_INDEX_FILE=$PWD/index; git read-tree HEAD; git rm -rq --cached .;"
        f" link=$(printf %s {victim} | git hash-object -w --stdin);"
        " git update-index --add --cacheinfo 120000,$link,sub;"
        " made=$(git commit-tree $(git write-tree) -p HEAD -m evil); unset GIT_INDEX_FILE; rm index;"
        " git checkout -q --detach; git update-ref refs/heads/codex/arch $made; echo planted"
    )
    async with team(script=TEAM_SCRIPT) as (server, _):
        done = await server.start(run(plant), identity="arch", cwd=str(checkout / "sub/deep"), **WRITING)
        assert "written" in done["content"], done
        assert "planted" in done["content"], done
        assert "done:" not in done["content"], done
        assert done["content"].count("refused: rename 16") >= 2, done  # EBUSY: a mount of its own
        tree = Path(done["worktree"]["path"])
        assert git(checkout, "ls-tree", "codex/arch").startswith("120000 blob"), done
        (tree / "sub").rename(tree / "away")
        (tree / "sub").symlink_to(victim)
        refused = await server.run("codex-reply", {"identity": "arch", "prompt": run("echo x >>mine")})
        assert "is a link or a file; put a folder in its place" in refusal(refused)
        (tree / "sub").unlink()
        (tree / "away").rename(tree / "sub")
        assert "again" in (await server.reply("arch", run("echo again")))["content"]
        assert (await server.close_agent("arch"))["worktree"]["path"] is None
        refused = await server.run("codex", {"codex_id": done["codex_id"], "prompt": run("echo x >>mine")})
        assert "in branch codex/arch, the agent's folder sub/deep" in refusal(refused)
    assert (victim / "deep/mine").read_text() == "mine\n"
    assert git(victim, "status", "--porcelain") == ""


async def test_a_hook_that_another_agent_has_written_does_not_run_in_a_trusted_repository(
    team: Team, tmp_path: Path
) -> None:
    """A popular tool for hooks keeps them in an ignored folder of the checkout, which every agent there can write."""
    mark, hook = tmp_path / "mark", ".husky/_/post-checkout"
    plant = f"mkdir -p .husky/_; echo '#!/bin/sh\ntouch {mark}' | tee {hook} clean.sh; chmod +x {hook}; echo planted"
    checkout = repository(tmp_path / "repo", **{".gitignore": "_\n*.sh\n", ".gitattributes": "* filter=x\n"})
    (checkout / "plant.sh").write_text(plant)
    git(checkout, "config", "core.hooksPath", ".husky/_")
    for key in ("filter.x.clean", "filter.x.smudge"):
        git(checkout, "config", key, "./clean.sh")
    settings = tmp_path / "home/.codex/config.toml"
    settings.parent.mkdir(parents=True)
    settings.write_text(f'[projects."{checkout}"]\ntrust_level = "trusted"\n')
    async with team(script=TEAM_SCRIPT) as (server, _):
        confined = {name: value for name, value in WRITING.items() if name != "worktree"}
        done = await server.start(run("sh plant.sh"), identity="mole", cwd=str(checkout), **confined)
        assert "planted" in done["content"], done
        done = await server.start(run("echo here"), identity="arch", cwd=str(checkout), **WRITING)
        assert "here" in done["content"], done
    assert (checkout / hook).exists()
    assert not mark.exists()
