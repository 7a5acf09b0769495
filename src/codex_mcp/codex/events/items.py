"""Pure. The events that an item's begin and end stand for. When they are due, `events` and `event_life` say."""

from __future__ import annotations

from codex_mcp.codex.events.agents import agent_begin, agent_end
from codex_mcp.codex.events.commands import command_begin, command_end
from codex_mcp.codex.events.patches import patch_begin, patch_end
from codex_mcp.codex.events.spelling import file_url
from codex_mcp.codex.events.texts import agent_message, agent_reasoning, user_message
from codex_mcp.codex.events.tools import dynamic_end, mcp_begin, mcp_end, picture_end, search_end
from codex_mcp.wire.app import items
from codex_mcp.wire.app.notifications import ItemCompleted, ItemStarted


def begin(note: ItemStarted, *, auto_approved: bool) -> dict[str, object] | None:
    """The begin of an item, if it has one; `auto_approved` is for patches."""
    match note.item:
        case items.CommandExecution() as item:
            return command_begin(item, note.turn_id, note.started_at_ms)
        case items.FileChange() as item:
            return patch_begin(item, note.turn_id, auto_approved=auto_approved)
        case items.McpToolCall() as item:
            return mcp_begin(item)
        case items.CollabToolCall() as item:
            return agent_begin(item, note.started_at_ms)
        case items.WebSearch() as item:
            return {"type": "web_search_begin", "call_id": item.id}
        case items.ImageGeneration() as item:
            return {"type": "image_generation_begin", "call_id": item.id}
        case _:
            return None


def end(note: ItemCompleted) -> list[dict[str, object]]:
    """What is said when an item is complete."""
    match note.item:
        case items.UserMessage() as item:
            return [user_message(item)]
        case items.AgentMessage() as item:
            return [agent_message(item)]
        case items.Reasoning() as item:
            return agent_reasoning(item)
        case items.CommandExecution() as item:
            return [command_end(item, note.turn_id, note.completed_at_ms)]
        case items.FileChange() as item:
            return [patch_end(item, note.turn_id)]
        case _:
            msg = _end_of_call(note) or _end_of_mode(note)
            return [] if msg is None else [msg]


def _end_of_call(note: ItemCompleted) -> dict[str, object] | None:
    match note.item:
        case items.McpToolCall() as item:
            return mcp_end(item)
        case items.DynamicToolCall() as item:
            return dynamic_end(item, note.turn_id, note.completed_at_ms)
        case items.CollabToolCall() as item:
            return agent_end(item, note.completed_at_ms)
        case items.WebSearch() as item:
            return search_end(item)
        case items.ImageGeneration() as item:
            return picture_end(item)
        case items.ImageView() as item:
            return {"type": "view_image_tool_call", "call_id": item.id, "path": file_url(item.path)}
        case _:
            return None


def _end_of_mode(note: ItemCompleted) -> dict[str, object] | None:
    match note.item:
        case items.ContextCompaction():
            return {"type": "context_compacted"}
        case items.EnteredReview() as item:
            target = {"type": "custom", "instructions": item.review}
            return {"type": "entered_review_mode", "target": target, "user_facing_hint": item.review}
        case items.ExitedReview():
            # The findings come as one text, in the agent_message before it.
            return {"type": "exited_review_mode", "review_output": None}
        case _:
            return None
