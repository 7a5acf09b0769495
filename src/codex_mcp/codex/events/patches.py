"""Pure. A patch as old events show it: what changes in which file, how it began and ended."""

from __future__ import annotations

from typing import Final

from codex_mcp.codex.events.spelling import snake
from codex_mcp.wire.app.items import FileChange, FileUpdate

# How the app-server marks a moved file at the end of its diff; the old event said it in move_path alone.
MOVED: Final = "\n\nMoved to: "


def changes(updates: list[FileUpdate]) -> dict[str, object]:
    """A patch by file."""
    return {update.path: _change(update) for update in updates}


def _change(update: FileUpdate) -> dict[str, object]:
    if update.kind.type != "update":
        return {"type": update.kind.type, "content": update.diff}
    diff, target = update.diff, update.kind.move_path
    if target is not None:
        diff = diff.removesuffix(MOVED + target)
    return {"type": "update", "unified_diff": diff, "move_path": target}


def patch_begin(item: FileChange, turn_id: str, *, auto_approved: bool) -> dict[str, object]:
    return {
        "type": "patch_apply_begin",
        "call_id": item.id,
        "turn_id": turn_id,
        "auto_approved": auto_approved,
        "changes": changes(item.changes),
    }


def patch_end(item: FileChange, turn_id: str) -> dict[str, object]:
    """patch_apply_end. What apply_patch printed does not come through the app-server."""
    return {
        "type": "patch_apply_end",
        "call_id": item.id,
        "turn_id": turn_id,
        "stdout": "",
        "stderr": "",
        "success": item.status == "completed",
        "changes": changes(item.changes),
        "status": snake(item.status),
    }
