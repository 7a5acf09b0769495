"""Patches by file."""

from codex_mcp.codex.events.patches import changes, patch_begin, patch_end
from codex_mcp.wire.app.items import ChangeKind, FileChange, FileUpdate

DIFF = "@@ -1 +1 @@\n-one\n+two\n"
PATCH = FileChange(id="call-2", changes=[FileUpdate("/x/new", ChangeKind("add"), "one\n")], status="completed")
SHOWN = {"/x/new": {"type": "add", "content": "one\n"}}


def test_added_and_deleted_files_show_their_content() -> None:
    gone = FileUpdate("/x/old", ChangeKind("delete"), "zero\n")
    assert changes([*PATCH.changes, gone]) == {**SHOWN, "/x/old": {"type": "delete", "content": "zero\n"}}


def test_a_changed_file_shows_its_diff() -> None:
    update = FileUpdate("/x/a", ChangeKind("update"), DIFF)
    assert changes([update]) == {"/x/a": {"type": "update", "unified_diff": DIFF, "move_path": None}}


def test_a_moved_file_shows_its_target_once() -> None:
    update = FileUpdate("/x/a", ChangeKind("update", move_path="/x/b"), DIFF + "\n\nMoved to: /x/b")
    assert changes([update]) == {"/x/a": {"type": "update", "unified_diff": DIFF, "move_path": "/x/b"}}


def test_a_patch_begins_and_ends() -> None:
    ids = {"call_id": "call-2", "turn_id": "turn-1"}
    begin = {"type": "patch_apply_begin", **ids, "auto_approved": True, "changes": SHOWN}
    assert patch_begin(PATCH, "turn-1", auto_approved=True) == begin
    assert patch_end(PATCH, "turn-1") == {
        "type": "patch_apply_end",
        **ids,
        "stdout": "",
        "stderr": "",
        "success": True,
        "changes": SHOWN,
        "status": "completed",
    }


def test_a_patch_that_did_not_apply_says_so() -> None:
    for status in ("failed", "declined"):
        end = patch_end(FileChange(id="call-2", status=status), "turn-1")
        assert (end["success"], end["status"]) == (False, status)
