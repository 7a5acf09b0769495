"""Pure. The events of an item's begin and end; `translator` and `item_life` decide when to send them.

item_started and item_completed repeat every item in another form, and are sent only if the call asks for all events.
Item names are those of 0.153.4 (UserMessage, CommandExecution, …); other items keep their own fields.
"""

from __future__ import annotations

from typing import Final

from msgspec import to_builtins

from codex_mcp.threads.events.commands import command_begin, command_end, command_fields, command_result
from codex_mcp.threads.events.spelling import duration, file_url, present, snake, snake_keys
from codex_mcp.threads.events.texts import agent_message, agent_reasoning, input_part, user_message
from codex_mcp.threads.events.tools import (
    agent_begin,
    agent_end,
    dynamic_end,
    mcp_begin,
    mcp_end,
    picture_end,
    search_action,
    search_end,
)
from codex_mcp.wire.app import items
from codex_mcp.wire.app.items import (
    AgentMessage,
    CommandExecution,
    FileChange,
    FileUpdate,
    ImageView,
    Item,
    McpToolCall,
    Reasoning,
    UserMessage,
    WebSearch,
)
from codex_mcp.wire.app.notifications import ItemCompleted, ItemStarted

MOVED: Final = "\n\nMoved to: "
"""The app-server marks a moved file with this at the end of its diff; 0.153.4 named the target in move_path alone."""


def begin(note: ItemStarted, *, auto_approved: bool) -> dict[str, object] | None:
    """The event that begins an item, if it has one; `auto_approved` is for patches."""
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
    """The events of a completed item."""
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


def item_started(note: ItemStarted, thread_id: str, *, auto_approved: bool = False) -> dict[str, object]:
    fields = {"auto_approved": auto_approved} if isinstance(note.item, FileChange) else {}
    return {
        "type": "item_started",
        "thread_id": thread_id,
        "turn_id": note.turn_id,
        "item": {**_item(note.item), **fields},
        "started_at_ms": note.started_at_ms,
    }


def item_completed(note: ItemCompleted, thread_id: str) -> dict[str, object]:
    return {
        "type": "item_completed",
        "thread_id": thread_id,
        "turn_id": note.turn_id,
        "item": {**_item(note.item), **_outcome(note.item)},
        **present(started_at_ms=note.item.started_at_ms),
        "completed_at_ms": note.completed_at_ms,
    }


def _item(item: Item) -> dict[str, object]:
    match item:
        case UserMessage():
            content = [input_part(part) for part in item.content]
            return {"type": "UserMessage", "id": item.id, "content": content}
        case AgentMessage():
            text = [{"type": "Text", "text": item.text}]
            return {"type": "AgentMessage", "id": item.id, "content": text, **present(phase=item.phase)}
        case Reasoning():
            return {"type": "Reasoning", "id": item.id, "summary_text": item.summary, "raw_content": item.content}
        case CommandExecution():
            return {
                "type": "CommandExecution",
                "id": item.id,
                **present(process_id=item.process_id),
                **command_fields(item),
                "status": snake(item.status),
            }
        case FileChange():
            return {"type": "FileChange", "id": item.id, "changes": changes(item.changes)}
        case McpToolCall():
            return _mcp_item(item)
        case WebSearch():
            return {"type": "WebSearch", "id": item.id, "query": item.query, "action": search_action(item)}
        case ImageView():
            return {"type": "ImageView", "id": item.id, "path": file_url(item.path)}
        case _:
            return _other_item(item)


def _mcp_item(item: McpToolCall) -> dict[str, object]:
    return {
        "type": "McpToolCall",
        "id": item.id,
        "server": item.server,
        "tool": item.tool,
        "arguments": item.arguments,
        **present(readOnlyHint=item.read_only_hint),
        "status": item.status,
    }


def _other_item(item: Item) -> dict[str, object]:
    plain: dict[str, object] = to_builtins(item)
    kind = str(plain.pop("type"))
    plain.pop("startedAtMs", None)
    return {"type": kind[:1].upper() + kind[1:], **{snake(name): snake_keys(value) for name, value in plain.items()}}


def _outcome(item: Item) -> dict[str, object]:
    match item:
        case CommandExecution():
            return command_result(item)
        case FileChange():
            return {"status": snake(item.status), "stdout": "", "stderr": ""}
        case McpToolCall():
            error = None if item.error is None else {"message": item.error.message}
            return {**present(result=item.result, error=error), "duration": duration(item.duration_ms)}
        case _:
            return {}


def changes(updates: list[FileUpdate]) -> dict[str, object]:
    return {update.path: _change(update) for update in updates}


def _change(update: FileUpdate) -> dict[str, object]:
    if update.kind.type != "update":
        return {"type": update.kind.type, "content": update.diff}
    diff, target = update.diff, update.kind.move_path
    if target is not None:
        diff = diff.removesuffix(MOVED + target)
    return {"type": "update", "unified_diff": diff, "move_path": target}


def patch_begin(item: FileChange, turn_id: str, *, auto_approved: bool) -> dict[str, object]:
    return {
        "type": "patch_apply_begin",
        "call_id": item.id,
        "turn_id": turn_id,
        "auto_approved": auto_approved,
        "changes": changes(item.changes),
    }


def patch_end(item: FileChange, turn_id: str) -> dict[str, object]:
    return {
        "type": "patch_apply_end",
        "call_id": item.id,
        "turn_id": turn_id,
        "stdout": "",  # the app-server does not report what apply_patch printed
        "stderr": "",
        "success": item.status == "completed",
        "changes": changes(item.changes),
        "status": snake(item.status),
    }
