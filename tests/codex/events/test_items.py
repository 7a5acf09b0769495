"""Which events an item's begin and end stand for."""

import pytest

from codex_mcp.codex.events.items import begin, end
from codex_mcp.wire.app import items
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
