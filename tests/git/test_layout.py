"""Our own runs of git read the objects of an agent, and nothing else that it writes beside them."""

from pathlib import Path

from codex_mcp.git.layout import ours
from codex_mcp.git.making import Asked, make
from codex_mcp.git.publishing import publish
from tests.support.repositories import agents_commit, agents_git, git, repository


def test_what_an_agent_writes_beside_its_objects_is_not_believed(tmp_path: Path) -> None:
    checkout = repository(tmp_path / "repo")
    worktree = make(Asked("codex:arch1", "arch", str(checkout), str(tmp_path / "state"))).worktree
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
