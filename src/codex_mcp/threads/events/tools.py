"""Pure. The events of tool calls, web searches, images and other agents.

tool for another agent                   event, with _begin and _end
---------------------------------------  ------------------------
spawnAgent                               collab_agent_spawn
sendInput, sendMessage, followupTask     collab_agent_interaction
wait                                     collab_waiting
closeAgent                               collab_close
resumeAgent                              collab_resume
interruptAgent, listAgents               (had no event)
"""

from __future__ import annotations

from typing import Final

from codex_mcp.threads.events.spelling import duration, present, snake
from codex_mcp.wire.app.items import (
    AgentState,
    CollabToolCall,
    DynamicToolCall,
    ImageGeneration,
    McpToolCall,
    WebSearch,
)


def _mcp_call(item: McpToolCall) -> dict[str, object]:
    return {
        "call_id": item.id,
        "invocation": {"server": item.server, "tool": item.tool, "arguments": item.arguments},
        **present(read_only_hint=item.read_only_hint),
    }


def mcp_begin(item: McpToolCall) -> dict[str, object]:
    return {"type": "mcp_tool_call_begin", **_mcp_call(item)}


def mcp_end(item: McpToolCall) -> dict[str, object]:
    """`result` is a Rust Result."""
    if item.result is not None:
        result: dict[str, object] = {"Ok": {name: value for name, value in item.result.items() if value is not None}}
    else:
        result = {"Err": item.error.message if item.error is not None else f"the call is {snake(item.status)}"}
    return {"type": "mcp_tool_call_end", **_mcp_call(item), "duration": duration(item.duration_ms), "result": result}


def dynamic_end(item: DynamicToolCall, turn_id: str, completed_at_ms: int) -> dict[str, object]:
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
    action = item.action or {"type": "other"}
    named = {**action, "type": snake(str(action.get("type", "other")))}
    return {name: value for name, value in named.items() if value is not None}


def search_end(item: WebSearch) -> dict[str, object]:
    return {"type": "web_search_end", "call_id": item.id, "query": item.query, "action": search_action(item)}


def picture_end(item: ImageGeneration) -> dict[str, object]:
    return {
        "type": "image_generation_end",
        "call_id": item.id,
        "status": item.status,
        **present(revised_prompt=item.revised_prompt),
        "result": item.result or "",
        **present(saved_path=item.saved_path),
    }


KINDS: Final = {
    "spawnAgent": "collab_agent_spawn",
    "sendInput": "collab_agent_interaction",
    "sendMessage": "collab_agent_interaction",
    "followupTask": "collab_agent_interaction",
    "wait": "collab_waiting",
    "closeAgent": "collab_close",
    "resumeAgent": "collab_resume",
}


def agent_begin(item: CollabToolCall, started_at_ms: int) -> dict[str, object] | None:
    kind = KINDS.get(item.tool)
    if kind is None:
        return None
    common = {"type": f"{kind}_begin", "call_id": item.id, "started_at_ms": started_at_ms}
    fields: dict[str, object] = {**common, "sender_thread_id": item.sender_thread_id}
    match kind:
        case "collab_agent_spawn":
            return fields | _spawn(item)
        case "collab_waiting":
            return fields | {"receiver_thread_ids": item.receiver_thread_ids}
        case "collab_agent_interaction":
            return fields | {"receiver_thread_id": _receiver(item), "prompt": item.prompt or ""}
        case _:
            return fields | {"receiver_thread_id": _receiver(item)}


def agent_end(item: CollabToolCall, completed_at_ms: int) -> dict[str, object] | None:
    kind = KINDS.get(item.tool)
    if kind is None:
        return None
    common = {"type": f"{kind}_end", "call_id": item.id, "completed_at_ms": completed_at_ms}
    fields: dict[str, object] = {**common, "sender_thread_id": item.sender_thread_id}
    match kind:
        case "collab_agent_spawn":
            spawned = {"new_thread_id": _receiver(item) or None, "status": _status(item)}
            return fields | _spawn(item) | spawned
        case "collab_waiting":
            return fields | {"statuses": {name: status(state) for name, state in item.agents_states.items()}}
        case "collab_agent_interaction":
            prompt = {"receiver_thread_id": _receiver(item), "prompt": item.prompt or ""}
            return fields | prompt | {"status": _status(item)}
        case _:
            return fields | {"receiver_thread_id": _receiver(item), "status": _status(item)}


def status(state: AgentState) -> object:
    """The message of a completed or failed agent is part of its status."""
    name = snake(state.status)
    return {name: state.message} if name in {"completed", "errored"} else name


def _spawn(item: CollabToolCall) -> dict[str, object]:
    return {
        "prompt": item.prompt or "",
        "model": item.model or "",
        "reasoning_effort": item.reasoning_effort,
    }


def _receiver(item: CollabToolCall) -> str:
    return item.receiver_thread_ids[0] if item.receiver_thread_ids else ""


def _status(item: CollabToolCall) -> object:
    state = item.agents_states.get(_receiver(item))
    return "not_found" if state is None else status(state)
