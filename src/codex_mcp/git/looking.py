"""Looks at a checkout after a turn: which files it has changed, by whatever means. Blocks.

Nothing is read before the turn except where the checkout stands. Afterwards git compares the files with the commit of
that time, and of those that differ, the ones that were written since the turn began count. Outside of git there is
nothing to compare with.
"""

from __future__ import annotations

import os
import stat
from typing import Final

from msgspec import Struct

from codex_mcp.base.files import read_beginning
from codex_mcp.base.git import SHORT_ID, position_of
from codex_mcp.git.changes import Changed, ChangeKind, lines_of, read_changes, read_names
from codex_mcp.git.comparing import comparing
from codex_mcp.git.start import StartPoint
from codex_mcp.git.worktree import HEADS, LISTED_COMMITS, WorkDone

CLOCK_STEP: Final = 20_000_000
"""Nanoseconds by which the time of a change can lag behind the clock: the system counts file times in steps."""

MOST_FILES: Final = 500
"""Files that commands changed, of one turn. A longer list would help no reader."""

LONGEST_COUNTED: Final = 1 << 20
"""Bytes of an untracked file whose lines are counted, so that a big one does not delay the answer."""

PATIENCE: Final = 5.0
"""Seconds for each run of git. The caller waits for it; beyond that only patches are listed."""

DIFF: Final = (
    *("diff", "--no-ext-diff", "--no-textconv", "--no-renames", "--ignore-submodules=dirty", "--submodule=short"),
)


class SeenChanges(Struct, frozen=True):
    files: tuple[Changed, ...]
    is_cut: bool = False


def changed_since(start: StartPoint, codex_home: str) -> SeenChanges:
    """The files that were changed since then. Raises GitFailed."""
    root = os.fsencode(start.position.root)
    since = start.at - CLOCK_STEP
    commit = start.commit
    differing: list[Changed] = []
    with comparing(start.position, codex_home) as git:
        if commit is not None:
            differing = read_changes(git.ask(*DIFF, "--raw", "--numstat", "-z", commit, "--", patience=PATIENCE))
        listed = git.ask("ls-files", "--others", "--exclude-standard", "-z", patience=PATIENCE)
    files = [change for change in differing if _is_recent(os.path.join(root, change.path), since)]
    known = {change.path for change in files}
    new = [name for name in read_names(listed) if name not in known and _is_recent(os.path.join(root, name), since)]
    room = max(0, MOST_FILES - len(files))
    files += [_untracked(root, name) for name in new[:room]]
    return SeenChanges(tuple(files[:MOST_FILES]), len(differing) > MOST_FILES or len(new) > room)


def work_since(cwd: str, base: str, codex_home: str) -> WorkDone | None:
    """What was committed and changed since this commit, in the checkout around a folder. Raises GitFailed."""
    position = position_of(cwd)
    if position is None:
        return None
    with comparing(position, codex_home) as git:
        commits = int(git.ask("rev-list", "--count", f"{base}..HEAD", patience=PATIENCE))
        log = b"" if not commits else git.ask("log", f"-{LISTED_COMMITS}", "--format=%h %s", f"{base}..HEAD", "--")
        diffstat = git.ask(*DIFF, "--shortstat", base, "--", patience=PATIENCE)
    branch = position.commit[:SHORT_ID] if position.commit else ""
    return WorkDone(
        path=position.root,
        branch=branch if position.ref is None else position.ref.removeprefix(HEADS),
        commits=commits,
        log=log.decode(errors="replace").splitlines(),
        diffstat=diffstat.decode(errors="replace").strip(),
    )


def _is_recent(path: bytes, since: int) -> bool:
    """Whether a file was written since then; for a missing one, whether its folder was."""
    try:
        return os.lstat(path).st_ctime_ns >= since
    except OSError:
        parent = os.path.dirname(path)
        return parent == path or _is_recent(parent, since)


def _untracked(root: bytes, name: bytes) -> Changed:
    path = os.path.join(root, name)
    try:
        found = os.lstat(path)
        if not stat.S_ISREG(found.st_mode) or found.st_size > LONGEST_COUNTED:
            return Changed(name, ChangeKind.ADD)
        lines = lines_of(read_beginning(os.fsdecode(path), LONGEST_COUNTED, links=False))
        return Changed(name, ChangeKind.ADD, lines, None if lines is None else 0)
    except OSError:
        return Changed(name, ChangeKind.ADD)
