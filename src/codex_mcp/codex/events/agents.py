"""Pure. Other agents that the model starts, asks, awaits and stops, as old `collab_*` events.

the tool                                 begin and end are called
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

from codex_mcp.codex.events.spelling import snake
from codex_mcp.wire.app.items import AgentState, CollabToolCall

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
    """collab_…_begin"""
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
    """collab_…_end"""
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
    """An agent's status; how it completed or failed is said inside of it."""
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
