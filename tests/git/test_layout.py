"""Our own runs of git: they read the objects of an agent and nothing beside them, and show no name of its own."""

import os
from pathlib import Path

import pytest

from codex_mcp.git.layout import ours
from codex_mcp.git.layout import repository as repository_of
from codex_mcp.git.making import WantedWorktree, make
from codex_mcp.git.publishing import publish
from codex_mcp.git.removing import close
from codex_mcp.git.running import GitFailed
from tests.support.repositories import agents_commit, agents_git, git, repository


def test_no_name_that_an_agent_has_chosen_reaches_a_terminal_as_it_is(tmp_path: Path) -> None:
    checkout = repository(tmp_path / "repo")
    worktree = make(WantedWorktree("codex:arch1", "arch", str(checkout), str(tmp_path / "state"))).worktree
    strange = "a\x9b2J\u202eb"
    agents_git(worktree.path, "checkout", "-qb", f"{strange}/{'b' * 200}/{'c' * 200}")
    agents_commit(worktree.path, "first", "x\n")
    agents_git(worktree.path, "checkout", "-qb", f"{strange}c", "HEAD~")
    published = publish(worktree)
    assert published.worktree.branch == "codex/a-2J-bc"
    assert [warning.isprintable() for warning in published.warnings] == [True]
    os.mkfifo(os.fsencode(worktree.own_git) + b"/objects/a\n\x1b[2J\xff")
    why = close(published.worktree).why or ""
    assert "objects/a\\n\\u{1b}[2J\\u{dcff} is not what git writes there" in why
    with pytest.raises(GitFailed, match=r"Not a valid object name a\\u{9b}2J\\u{202e}b"):
        repository_of(worktree).ask("cat-file", "-t", strange)


def test_what_an_agent_writes_beside_its_objects_is_not_believed(tmp_path: Path) -> None:
    checkout = repository(tmp_path / "repo")
    worktree = make(WantedWorktree("codex:arch1", "arch", str(checkout), str(tmp_path / "state"))).worktree
    tip = agents_commit(worktree.path, "first", "x\n")
    agents_git(worktree.path, "commit-graph", "write", "--reachable")
    graph = Path(worktree.own_git) / "objects/info/commit-graph"
    trees = [agents_git(worktree.path, "rev-parse", f"{name}^{{tree}}") for name in ("HEAD", "HEAD~")]
    graph.chmod(0o600)
    graph.write_bytes(graph.read_bytes().replace(bytes.fromhex(trees[0]), bytes.fromhex(trees[1])))
    assert agents_git(worktree.path, "log", "-1", "--format=%T") == trees[1]  # a lie
    assert ours(worktree, agents_objects=True).line("log", "-1", "--format=%T", tip) == trees[0]
    assert publish(worktree).trouble is None
    assert git(checkout, "show", f"{tip}:first") == "x"
