"""Which events an item's begin and end stand for."""

import pytest

from codex_mcp.codex.event_items import begin, end
from codex_mcp.wire import app_items
from codex_mcp.wire.app_notes import ItemCompleted, ItemStarted

PAIRS: list[tuple[app_items.Item, str | None, list[str]]] = [
    (app_items.UserMessage("i"), None, ["user_message"]),
    (app_items.AgentMessage("i"), None, ["agent_message"]),
    (app_items.Reasoning("i", summary=["a"]), None, ["agent_reasoning"]),
    (app_items.CommandExecution("i"), "exec_command_begin", ["exec_command_end"]),
    (app_items.FileChange("i"), "patch_apply_begin", ["patch_apply_end"]),
    (app_items.McpToolCall("i"), "mcp_tool_call_begin", ["mcp_tool_call_end"]),
    (app_items.DynamicToolCall("i"), None, ["dynamic_tool_call_response"]),
    (app_items.CollabToolCall("i", tool="wait"), "collab_waiting_begin", ["collab_waiting_end"]),
    (app_items.CollabToolCall("i", tool="listAgents"), None, []),
    (app_items.WebSearch("i"), "web_search_begin", ["web_search_end"]),
    (app_items.ImageGeneration("i"), "image_generation_begin", ["image_generation_end"]),
    (app_items.ImageView("i", path="/x/i.png"), None, ["view_image_tool_call"]),
    (app_items.EnteredReview("i"), None, ["entered_review_mode"]),
    (app_items.ExitedReview("i"), None, ["exited_review_mode"]),
    (app_items.ContextCompaction("i"), None, ["context_compacted"]),
]


@pytest.mark.parametrize(("item", "begins", "ends"), PAIRS)
def test_every_item_has_its_events(item: app_items.Item, begins: str | None, ends: list[str]) -> None:
    begun = begin(ItemStarted("turn-1", item, 1), auto_approved=False)
    assert (None if begun is None else begun["type"]) == begins
    assert [msg["type"] for msg in end(ItemCompleted("turn-1", item, 2))] == ends


def test_a_viewed_picture_is_named_by_address() -> None:
    [msg] = end(ItemCompleted("turn-1", app_items.ImageView("i", path="/x/i.png"), 2))
    assert msg == {"type": "view_image_tool_call", "call_id": "i", "path": "file:///x/i.png"}
