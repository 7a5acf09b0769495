"""Tool calls, searches and pictures."""

import pytest

from codex_mcp.codex.events.tools import dynamic_end, mcp_begin, mcp_end, picture_end, search_action, search_end
from codex_mcp.wire.app.items import DynamicToolCall, ImageGeneration, McpToolCall, ToolError, WebSearch

INVOCATION = {"server": "wiki", "tool": "find", "arguments": {"pageName": "Home"}}


def call(
    status: str = "completed", result: dict[str, object] | None = None, error: ToolError | None = None
) -> McpToolCall:
    arguments = {"pageName": "Home"}
    return McpToolCall("call-3", None, "wiki", "find", arguments, status, result=result, error=error, duration_ms=2)


def test_an_mcp_call_begins_and_ends_with_its_invocation() -> None:
    item = call(result={"content": [], "structuredContent": None, "_meta": None})
    assert mcp_begin(item) == {"type": "mcp_tool_call_begin", "call_id": "call-3", "invocation": INVOCATION}
    assert mcp_end(item) == {
        "type": "mcp_tool_call_end",
        "call_id": "call-3",
        "invocation": INVOCATION,
        "duration": {"secs": 0, "nanos": 2_000_000},
        "result": {"Ok": {"content": []}},
    }


@pytest.mark.parametrize(
    ("item", "why"),
    [(call("failed", error=ToolError("no such page")), "no such page"), (call("failed"), "the call is failed")],
)
def test_a_failed_mcp_call_says_why(item: McpToolCall, why: str) -> None:
    assert mcp_end(item)["result"] == {"Err": why}


def test_a_call_of_a_tool_of_ours_ends() -> None:
    item = DynamicToolCall("call-4", tool="weather", arguments={"city": "Oslo"}, success=True, duration_ms=5)
    assert dynamic_end(item, "turn-1", 9) == {
        "type": "dynamic_tool_call_response",
        "call_id": "call-4",
        "turn_id": "turn-1",
        "completed_at_ms": 9,
        "namespace": None,
        "tool": "weather",
        "arguments": {"city": "Oslo"},
        "content_items": [],
        "success": True,
        "error": None,
        "duration": {"secs": 0, "nanos": 5_000_000},
    }


def test_a_search_says_what_it_did() -> None:
    opened = WebSearch("ws-1", query="", action={"type": "openPage", "url": "https://example.org", "extra": None})
    assert search_action(opened) == {"type": "open_page", "url": "https://example.org"}
    assert search_end(WebSearch("ws-1", query="weather")) == {
        "type": "web_search_end",
        "call_id": "ws-1",
        "query": "weather",
        "action": {"type": "other"},
    }


def test_a_picture_is_told_with_what_is_known_of_it() -> None:
    item = ImageGeneration("ig-1", status="completed", result="aGk=", saved_path="/x/i.png")
    assert picture_end(item) == {
        "type": "image_generation_end",
        "call_id": "ig-1",
        "status": "completed",
        "result": "aGk=",
        "saved_path": "/x/i.png",
    }
