"""The worktrees that agents have left behind: listed, and removed where nothing would be lost."""

from __future__ import annotations

from collections.abc import Container, Sequence

from codex_mcp.base.errors import Explained
from codex_mcp.git.records import all_records, delete_record
from codex_mcp.git.removing import close, inspect
from codex_mcp.git.worktree import Left, Worktree, WorktreeState, why_kept
from codex_mcp.state.contract import Fenced, OwnedBy, Store


def left_behind(folder: str, running: Container[str]) -> list[Worktree]:
    """The worktrees whose agents are not `running`, by codex_id, and that are not removed yet."""
    records = all_records(folder)
    return [each for each in records if each.codex_id not in running and each.state is not WorktreeState.REMOVED]


def entries(worktrees: Sequence[Worktree]) -> list[dict[str, object]]:
    """What there is to say about each; `holds` is what a removal would lose."""
    return [
        {
            "codex_id": each.codex_id,
            "identity": each.identity,
            "path": each.path,
            "branch": each.branch,
            "holds": _holds(each),
        }
        for each in worktrees
    ]


def _holds(worktree: Worktree) -> str | None:
    try:
        found = inspect(worktree)
    except (Explained, OSError) as exc:
        return str(exc)
    return why_kept(found, worktree.state)


async def remove_clean(store: Store, worktrees: Sequence[Worktree]) -> list[Left]:
    """Remove those of these worktrees in which nothing would be lost, unless a server runs their agents."""
    done = []
    for worktree in worktrees:
        claim = await store.leases.claim(worktree.codex_id)
        if isinstance(claim, OwnedBy):
            continue
        try:
            left = close(worktree)
        except (Explained, OSError) as exc:
            left = Left(worktree, str(exc))
        try:
            await store.leases.release(claim)
        except Fenced:
            continue  # another server was faster
        done.append(left)
    return done


def forget(folder: str, agents: Container[str]) -> None:
    """Delete the records of removed worktrees whose agents are not among these: they cannot be resumed any more."""
    for record in all_records(folder):
        if record.codex_id not in agents and record.state is WorktreeState.REMOVED:
            delete_record(record)
