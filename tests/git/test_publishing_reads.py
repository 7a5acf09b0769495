"""Every file in an agent's own repository that is opened outside of its sandbox: references, logs and objects."""

import os
import re
from pathlib import Path

import pytest

from codex_mcp.base.git import position_of
from codex_mcp.git.diffs import Wanted, diff_of
from codex_mcp.git.looking import changed_since, work_since
from codex_mcp.git.making import WantedWorktree, make
from codex_mcp.git.publishing import publish
from codex_mcp.git.removing import close, inspect, open_again
from codex_mcp.git.start import StartPoint
from tests.support.opened_files import opened_files
from tests.support.repositories import agents_commit, agents_git, git, repository

READ = re.compile(
    r"HEAD|packed-refs|refs/(heads|tags)/[\w/]+|refs/stash|logs/HEAD|logs/refs/[\w/]+"
    r"|objects/info/alternates|objects/[0-9a-f]{2}/[0-9a-f]{38}|objects/pack/pack-[0-9a-f]{40}\.(idx|pack|rev)"
)
"""What `agent_files` reads by itself, and the objects, each of which git checks."""

OTHERS = ("commondir", "config.worktree", "gitdir", "shallow", "info/attributes", "info/exclude", "info/grafts")
"""Files that an agent may write as well. Git obeys them where it finds them."""


@pytest.mark.parametrize("packed", [False, True])
def test_of_an_agent_s_repository_only_references_logs_and_objects_are_opened(tmp_path: Path, *, packed: bool) -> None:
    checkout = repository(tmp_path / "repo")
    worktree = make(WantedWorktree("codex:arch1", "arch", str(checkout), str(tmp_path / "state"))).worktree
    tree, own, home = worktree.path, Path(worktree.own_git), str(tmp_path / "home")
    position = position_of(tree)
    assert position is not None
    agents_commit(tree, "first", "x\n")
    agents_git(tree, "checkout", "-qb", "other")
    tip = agents_commit(tree, "second", "x\n")
    (Path(tree) / "first").write_text("put away\n")
    agents_git(tree, "stash", "-q")
    if packed:
        agents_git(tree, "repack", "-adq", "--write-bitmap-index")
        agents_git(tree, "pack-refs", "--all")
        agents_git(tree, "multi-pack-index", "write", "--bitmap")
        agents_git(tree, "commit-graph", "write", "--reachable")
    for name in OTHERS:
        (own / name).parent.mkdir(exist_ok=True)
        (own / name).write_text("evil\n")
    with opened_files(own) as opened:
        publish(worktree)
        inspect(worktree)
        changed_since(StartPoint(position, 0), home)
        work_since(tree, worktree.base, home)
        diff_of(tree, Wanted(worktree.base), 1 << 20, home)
        for words in ("status", "log -p --all", "stash list", "diff HEAD", "add -A", "reset -q"):
            git(tree, *words.split())
        (Path(tree) / "untracked").touch()
        assert (close(worktree).why or "").startswith("1 file with uncommitted changes")
        open_again(worktree)
        os.unlink(f"{tree}/untracked")
        assert close(worktree).why is None
    assert {"HEAD", "packed-refs", "logs/HEAD"} <= opened
    assert any(name.startswith("objects/pack" if packed else "objects/") for name in opened)
    assert [name for name in sorted(opened) if not READ.fullmatch(name)] == []
    assert git(checkout, "rev-parse", "codex/other") == tip
