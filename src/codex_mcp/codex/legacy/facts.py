"""Pure. What the events of an old Codex mean for a turn.

An old Codex repeats its token_count, so `codex.legacy.core` reports the difference instead. In some releases the end of
a failed turn does not report the failure; the core then reports it first.
"""

from __future__ import annotations

import shlex
from collections.abc import Callable
from typing import Final

from codex_mcp.codex.facts import (
    CommandStarted,
    ErrorReported,
    Fact,
    FileChange,
    FilesChanged,
    ItemEnded,
    MessageSaid,
    MessageStreamed,
    ToolStarted,
    TurnEnded,
    TurnStarted,
)
from codex_mcp.wire.legacy import EventMsg


def fact_of_event(turn_id: str, msg: EventMsg) -> Fact | None:
    """What an event means for its turn, if anything."""
    reader = READERS.get(msg.type)
    return None if reader is None else reader(turn_id, msg)


def _completed(turn_id: str, msg: EventMsg) -> Fact:
    if msg.error is None:
        return TurnEnded(turn_id, "completed", None)
    return TurnEnded(turn_id, "failed", msg.error.message or None)


def _patched(turn_id: str, msg: EventMsg) -> Fact:
    if not msg.success:
        return ItemEnded(turn_id, msg.call_id)
    changes = tuple(FileChange(path, str(change.get("type", "update"))) for path, change in msg.changes.items())
    return FilesChanged(turn_id, msg.call_id, changes)


def _tool_called(turn_id: str, msg: EventMsg) -> Fact:
    name = ".".join(part for part in (msg.invocation.server, msg.invocation.tool) if part)
    return ToolStarted(turn_id, msg.call_id, f"calling a tool {name}".rstrip())


def _ended(turn_id: str, msg: EventMsg) -> Fact:
    return ItemEnded(turn_id, msg.call_id)


READERS: Final[dict[str, Callable[[str, EventMsg], Fact]]] = {
    "task_started": lambda turn_id, _: TurnStarted(turn_id),
    "task_complete": _completed,
    "turn_aborted": lambda turn_id, _: TurnEnded(turn_id, "interrupted", None),
    "agent_message": lambda turn_id, msg: MessageSaid(turn_id, msg.message),
    "agent_message_content_delta": lambda turn_id, msg: MessageStreamed(turn_id, msg.item_id, msg.delta),
    "exec_command_begin": lambda turn_id, msg: CommandStarted(
        turn_id, msg.call_id, shlex.join(msg.command), msg.process_id
    ),
    "exec_command_end": _ended,
    "patch_apply_begin": lambda turn_id, msg: ToolStarted(turn_id, msg.call_id, f"patching {', '.join(msg.changes)}"),
    "patch_apply_end": _patched,
    "mcp_tool_call_begin": _tool_called,
    "mcp_tool_call_end": _ended,
    "web_search_begin": lambda turn_id, msg: ToolStarted(turn_id, msg.call_id, "searching the web"),
    "web_search_end": _ended,
    "error": lambda turn_id, msg: ErrorReported(turn_id, msg.message, will_retry=False),
    "stream_error": lambda turn_id, msg: ErrorReported(
        turn_id, msg.message, will_retry=True, details=msg.additional_details or ""
    ),
}
