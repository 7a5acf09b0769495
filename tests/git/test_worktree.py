"""What is kept, and which names are free."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from codex_mcp.git.worktree import (
    Findings,
    Worktree,
    WorktreeState,
    branch_for,
    folder_name,
    free_branch,
    numbered,
    places,
    read_status,
    taken_names,
    why_kept,
)


@pytest.mark.parametrize(
    ("found", "ready", "removing"),
    [
        (Findings(), None, None),
        (Findings(has_folder=False, changed=3), None, None),
        (Findings(changed=1), "1 file with uncommitted changes", "1 file with uncommitted changes"),
        (Findings(deleted=2), "2 files with uncommitted changes", None),
        (Findings(changed=1, deleted=2), "3 files with uncommitted changes", "1 file with uncommitted changes"),
        (Findings(operation="rebase"), *["an unfinished rebase"] * 2),
        (Findings(trouble="commits that git does not accept"), *["commits that git does not accept"] * 2),
    ],
)
def test_a_worktree_is_kept_if_a_removal_would_lose_something(
    found: Findings, ready: str | None, removing: str | None
) -> None:
    assert why_kept(found, WorktreeState.READY) == ready
    assert why_kept(found, WorktreeState.REMOVING) == removing


def test_git_s_lists_are_read_with_any_name() -> None:
    assert read_status(b"") == (0, 0)
    entries = [
        b"# branch.oid x",
        b"1 .D N... 100644 100644 000000 a b gone",
        b"? new\nline",
        b"! ignored",
        b"1 M. N... 100644 100644 100644 a b 1 .D ",
    ]
    assert read_status(b"\0".join([*entries, b""])) == (2, 1)


names = st.lists(st.sampled_from(["codex", "arch", "arch-2", "x"]), min_size=1, max_size=3).map("/".join)


@given(st.lists(names))
def test_a_free_branch_collides_with_no_branch_or_folder_of_branches(refs: list[str]) -> None:
    taken = taken_names(f"refs/heads/{ref}" for ref in refs)
    branch = free_branch("arch", taken)
    assert branch == "codex/arch" or branch.startswith("codex/arch-")
    assert branch not in refs
    assert not any(ref.startswith(f"{branch}/") for ref in refs)


def test_branches_of_agents_stand_below_codex_and_never_in_each_other() -> None:
    assert [branch_for(name) for name in ("codex/arch", "main", "codex/a/b", "fix/x")] == [
        "codex/arch",
        "codex/main",
        "codex/a-b",
        "codex/fix-x",
    ]
    assert branch_for("a\x9b2J\u202eb\u2028c\u200dd é") == "codex/a-2J-b-c-d é"
    assert numbered("codex/x", {"codex/x", "codex/x-2"}) == "codex/x-3"


def test_names_and_places() -> None:
    folder = f"/s/{folder_name('arch', 'codex:0a1b')}"
    worktree = Worktree(
        codex_id="codex:0a1b",
        identity="arch",
        state=WorktreeState.READY,
        checkout="/r",
        common="/r/.git",
        path=f"{folder}/tree",
        folder=folder,
        subfolder="a/b",
        branch="renamed",
        base="c",
        tip="c",
    )
    assert (worktree.record, worktree.ref) == ("/s/arch-0a1b", "refs/heads/renamed")
    assert worktree.cwd == "/s/arch-0a1b/tree/a/b"
    assert places(worktree) == {
        "/s/arch-0a1b": "read",
        "/s/arch-0a1b/.git": "write",
        "/s/arch-0a1b/tree": "write",
        "/s/arch-0a1b/tree/.git": "deny",
        "/s/arch-0a1b/tree/a": "write",
        "/s/arch-0a1b/tree/a/b": "write",
    }
