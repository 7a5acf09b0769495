"""Pure. item_started and item_completed: every item once more, in its own shape. Sent only if all events are asked for.

Item names are those of 0.153.4 (UserMessage, CommandExecution, …); what has no shape of its own there keeps its fields.
"""

from __future__ import annotations

from msgspec import to_builtins

from codex_mcp.codex.events.commands import command_fields, command_result
from codex_mcp.codex.events.patches import changes
from codex_mcp.codex.events.spelling import duration, file_url, present, snake, snake_keys
from codex_mcp.codex.events.texts import input_part
from codex_mcp.codex.events.tools import search_action
from codex_mcp.wire.app.items import (
    AgentMessage,
    CommandExecution,
    FileChange,
    ImageView,
    Item,
    McpToolCall,
    Reasoning,
    UserMessage,
    WebSearch,
)
from codex_mcp.wire.app.notifications import ItemCompleted, ItemStarted


def item_started(note: ItemStarted, thread_id: str, *, auto_approved: bool = False) -> dict[str, object]:
    """item_started"""
    fields = {"auto_approved": auto_approved} if isinstance(note.item, FileChange) else {}
    return {
        "type": "item_started",
        "thread_id": thread_id,
        "turn_id": note.turn_id,
        "item": {**_item(note.item), **fields},
        "started_at_ms": note.started_at_ms,
    }


def item_completed(note: ItemCompleted, thread_id: str) -> dict[str, object]:
    """item_completed"""
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
