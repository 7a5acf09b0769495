"""Items in their own shape."""

from codex_mcp.codex.events.full_items import item_completed, item_started
from codex_mcp.wire.app import items
from codex_mcp.wire.app.notifications import ItemCompleted, ItemStarted


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
