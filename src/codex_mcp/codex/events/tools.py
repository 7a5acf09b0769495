"""Pure. Tool calls, searches and pictures as old events show them."""

from __future__ import annotations

from codex_mcp.codex.events.spelling import duration, present, snake
from codex_mcp.wire.app.items import DynamicToolCall, ImageGeneration, McpToolCall, WebSearch


def _mcp_call(item: McpToolCall) -> dict[str, object]:
    return {
        "call_id": item.id,
        "invocation": {"server": item.server, "tool": item.tool, "arguments": item.arguments},
        **present(read_only_hint=item.read_only_hint),
    }


def mcp_begin(item: McpToolCall) -> dict[str, object]:
    """mcp_tool_call_begin"""
    return {"type": "mcp_tool_call_begin", **_mcp_call(item)}


def mcp_end(item: McpToolCall) -> dict[str, object]:
    """mcp_tool_call_end, with a Rust Result"""
    if item.result is not None:
        result: dict[str, object] = {"Ok": {name: value for name, value in item.result.items() if value is not None}}
    else:
        result = {"Err": item.error.message if item.error is not None else f"the call is {snake(item.status)}"}
    return {"type": "mcp_tool_call_end", **_mcp_call(item), "duration": duration(item.duration_ms), "result": result}


def dynamic_end(item: DynamicToolCall, turn_id: str, completed_at_ms: int) -> dict[str, object]:
    """dynamic_tool_call_response"""
    return {
        "type": "dynamic_tool_call_response",
        "call_id": item.id,
        "turn_id": turn_id,
        "completed_at_ms": completed_at_ms,
        "namespace": item.namespace,
        "tool": item.tool,
        "arguments": item.arguments,
        "content_items": item.content_items or [],
        "success": item.success is True,
        "error": None,
        "duration": duration(item.duration_ms),
    }


def search_action(item: WebSearch) -> dict[str, object]:
    """What the search did: search, open_page, find_in_page or other."""
    action = item.action or {"type": "other"}
    named = {**action, "type": snake(str(action.get("type", "other")))}
    return {name: value for name, value in named.items() if value is not None}


def search_end(item: WebSearch) -> dict[str, object]:
    """web_search_end"""
    return {"type": "web_search_end", "call_id": item.id, "query": item.query, "action": search_action(item)}


def picture_end(item: ImageGeneration) -> dict[str, object]:
    """image_generation_end"""
    return {
        "type": "image_generation_end",
        "call_id": item.id,
        "status": item.status,
        **present(revised_prompt=item.revised_prompt),
        "result": item.result,
        **present(saved_path=item.saved_path),
    }
