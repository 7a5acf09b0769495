"""Pure. The patches of a thread, in the order in which they were applied, as one unified diff.

A file that was patched twice appears twice, so that `git apply` or `patch -p1` in the thread's folder applies all of
them again. Patches that were declined or failed are left out; so is what commands wrote themselves.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Final

from codex_mcp.threads.events.items import MOVED
from codex_mcp.wire.app.history import StoredThread, StoredTurn, read_items
from codex_mcp.wire.app.items import FileChange, FileUpdate

NO_NEWLINE: Final = "\\ No newline at end of file"

CUT: Final = "# The patches of earlier turns are left out; the transcript and the rollout file name them.\n"
"""Both `git apply` and `patch` skip such a line."""


def diff(thread: StoredThread, turns: Sequence[StoredTurn], *, is_cut: bool) -> str:
    """The patches of these turns, which are in order. `is_cut`: earlier turns are missing."""
    applied = [
        item
        for turn in turns
        for item in read_items(turn)
        if isinstance(item, FileChange) and item.status == "completed"
    ]
    patches = "".join("".join(_file(change, thread.cwd)) for item in applied for change in item.changes)
    return f"{CUT}{patches}" if is_cut else patches


def stat_of(patches: str) -> str:
    """Each file of such a diff with the lines that its patches added and removed."""
    added: Counter[str] = Counter()
    removed: Counter[str] = Counter()
    name, in_hunk = "", False
    for line in patches.splitlines():
        if line.startswith("diff --git a/"):
            name, in_hunk = line.rpartition(" b/")[2], False
            added[name] += 0  # its place in the list
        elif line.startswith("@@"):
            in_hunk = True
        elif in_hunk and line.startswith("+"):
            added[name] += 1
        elif in_hunk and line.startswith("-"):
            removed[name] += 1
    return "".join(f"{name} | +{count} -{removed[name]}\n" for name, count in added.items())


def _file(change: FileUpdate, cwd: str) -> Iterator[str]:
    path, target = _relative(change.path, cwd), change.kind.move_path
    moved = path if target is None else _relative(target, cwd)
    yield f"diff --git a/{path} b/{moved}\n"
    match change.kind.type:
        case "add":
            yield f"new file mode 100644\n--- /dev/null\n+++ b/{path}\n"
            yield _whole(change.diff, "+")
        case "delete":
            yield f"deleted file mode 100644\n--- a/{path}\n+++ /dev/null\n"
            yield _whole(change.diff, "-")
        case _:
            hunks = change.diff if target is None else change.diff.removesuffix(MOVED + target)
            if moved != path:
                yield f"rename from {path}\nrename to {moved}\n"
            if hunks:
                yield f"--- a/{path}\n+++ b/{moved}\n{hunks}"
                yield "" if hunks.endswith("\n") else "\n"


def _whole(content: str, sign: str) -> str:
    """A hunk that adds or removes all lines of a file."""
    if not content:
        return ""
    lines = content.removesuffix("\n").split("\n")
    span = f"1,{len(lines)}"
    head = f"@@ -0,0 +{span} @@\n" if sign == "+" else f"@@ -{span} +0,0 @@\n"
    end = "" if content.endswith("\n") else f"{NO_NEWLINE}\n"
    return head + "".join(f"{sign}{line}\n" for line in lines) + end


def _relative(path: str, cwd: str) -> str:
    """The path below the thread's folder; another one without its first slash, which a diff must not have."""
    inside = cwd.rstrip("/") + "/"
    return path.removeprefix(inside) if path.startswith(inside) else path.lstrip("/")
