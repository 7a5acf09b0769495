"""The events of items."""

import pytest

from codex_mcp.threads.events.items import begin, changes, end, item_completed, item_started, patch_begin, patch_end
from codex_mcp.wire.app import items
from codex_mcp.wire.app.items import ChangeKind, FileChange, FileUpdate
from codex_mcp.wire.app.notifications import ItemCompleted, ItemStarted

PAIRS: list[tuple[items.Item, str | None, list[str]]] = [
    (items.UserMessage("i"), None, ["user_message"]),
    (items.AgentMessage("i"), None, ["agent_message"]),
    (items.Reasoning("i", summary=["a"]), None, ["agent_reasoning"]),
    (items.CommandExecution("i"), "exec_command_begin", ["exec_command_end"]),
    (items.FileChange("i"), "patch_apply_begin", ["patch_apply_end"]),
    (items.McpToolCall("i"), "mcp_tool_call_begin", ["mcp_tool_call_end"]),
    (items.DynamicToolCall("i"), None, ["dynamic_tool_call_response"]),
    (items.CollabToolCall("i", tool="wait"), "collab_waiting_begin", ["collab_waiting_end"]),
    (items.CollabToolCall("i", tool="listAgents"), None, []),
    (items.WebSearch("i"), "web_search_begin", ["web_search_end"]),
    (items.ImageGeneration("i"), "image_generation_begin", ["image_generation_end"]),
    (items.ImageView("i", path="/x/i.png"), None, ["view_image_tool_call"]),
    (items.EnteredReview("i"), None, ["entered_review_mode"]),
    (items.ExitedReview("i"), None, ["exited_review_mode"]),
    (items.ContextCompaction("i"), None, ["context_compacted"]),
]


@pytest.mark.parametrize(("item", "begins", "ends"), PAIRS)
def test_every_item_has_its_events(item: items.Item, begins: str | None, ends: list[str]) -> None:
    begun = begin(ItemStarted("turn-1", item, 1), auto_approved=False)
    assert (None if begun is None else begun["type"]) == begins
    assert [msg["type"] for msg in end(ItemCompleted("turn-1", item, 2))] == ends


def test_a_viewed_picture_is_named_by_address() -> None:
    [msg] = end(ItemCompleted("turn-1", items.ImageView("i", path="/x/i.png"), 2))
    assert msg == {"type": "view_image_tool_call", "call_id": "i", "path": "file:///x/i.png"}


def started(item: items.Item) -> object:
    return item_started(ItemStarted("turn-1", item, 7), "thread-1")["item"]


def completed(item: items.Item) -> object:
    return item_completed(ItemCompleted("turn-1", item, 9), "thread-1")["item"]


def test_the_envelope_of_an_item() -> None:
    item = items.ContextCompaction("c-1", started_at_ms=7)
    shown = {"thread_id": "thread-1", "turn_id": "turn-1", "item": {"type": "ContextCompaction", "id": "c-1"}}
    start = {"type": "item_started", **shown, "started_at_ms": 7}
    assert item_started(ItemStarted("turn-1", item, 7), "thread-1") == start
    end = {"type": "item_completed", **shown, "started_at_ms": 7, "completed_at_ms": 9}
    assert item_completed(ItemCompleted("turn-1", item, 9), "thread-1") == end


def test_what_was_said_and_thought() -> None:
    said = {"type": "AgentMessage", "id": "m", "content": [{"type": "Text", "text": "hi"}]}
    assert started(items.AgentMessage("m", text="hi")) == said
    assert started(items.AgentMessage("m", text="hi", phase="commentary")) == {**said, "phase": "commentary"}
    prompt = items.UserMessage("u", content=[items.Input("text", "do")])
    part = {"type": "text", "text": "do", "text_elements": []}
    assert started(prompt) == {"type": "UserMessage", "id": "u", "content": [part]}
    thought = {"type": "Reasoning", "id": "r", "summary_text": ["a"], "raw_content": []}
    assert completed(items.Reasoning("r", summary=["a"])) == thought


def test_a_command_shows_its_outcome_when_it_is_done() -> None:
    item = items.CommandExecution("c", command="ls", cwd="/x", process_id="1", exit_code=0, status="completed")
    base = {"type": "CommandExecution", "id": "c", "process_id": "1", "command": ["ls"], "cwd": "file:///x"}
    base |= {"parsed_cmd": [], "source": "unified_exec_startup", "status": "completed"}
    outcome = {"stdout": "", "stderr": "", "aggregated_output": "", "formatted_output": "", "exit_code": 0}
    assert started(item) == base
    assert completed(item) == {**base, **outcome, "duration": {"secs": 0, "nanos": 0}}


def test_a_patch_says_who_approved_it_and_then_what_came_of_it() -> None:
    item = items.FileChange("p", status="declined")
    base = {"type": "FileChange", "id": "p", "changes": {}}
    assert started(item) == {**base, "auto_approved": False}
    assert completed(item) == {**base, "status": "declined", "stdout": "", "stderr": ""}


def test_tools_and_pictures() -> None:
    call = items.McpToolCall("t", server="wiki", tool="find", status="failed", error=items.ToolError("no"))
    base = {"type": "McpToolCall", "id": "t", "server": "wiki", "tool": "find", "arguments": None, "status": "failed"}
    assert started(call) == base
    assert completed(call) == {**base, "error": {"message": "no"}, "duration": {"secs": 0, "nanos": 0}}
    search = {"type": "WebSearch", "id": "w", "query": "q", "action": {"type": "other"}}
    assert started(items.WebSearch("w", query="q")) == search
    assert started(items.ImageView("i", path="/x/i.png")) == {
        "type": "ImageView",
        "id": "i",
        "path": "file:///x/i.png",
    }


def test_what_had_no_shape_of_its_own_keeps_its_fields() -> None:
    item = items.DynamicToolCall("d", tool="weather", content_items=[{"someText": "x"}])
    assert started(item) == {
        "type": "DynamicToolCall",
        "id": "d",
        "tool": "weather",
        "namespace": None,
        "arguments": None,
        "content_items": [{"some_text": "x"}],
        "success": None,
        "duration_ms": None,
    }


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
