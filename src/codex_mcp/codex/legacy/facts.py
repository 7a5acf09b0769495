"""Pure. What the events of an old Codex mean for a turn. They come as `codex/event`, as it sends them.

Its token_count is told again at odd times, so that it is no fact; what was used up comes as `codex/usage` (USED), which
`codex.legacy_core` makes of the difference. The end of a turn that failed does not say so in every release: before it
comes a `codex/failed` (FAILED).
"""

from __future__ import annotations

import shlex
from collections.abc import Callable
from typing import Final

import msgspec
from msgspec import Raw, Struct

from codex_mcp.codex.facts import (
    CommandStarted,
    ErrorReported,
    Fact,
    FileChange,
    FilesChanged,
    ItemEnded,
    MessageSaid,
    MessageStreamed,
    Tokens,
    TokensCounted,
    ToolStarted,
    TurnEnded,
    TurnStarted,
    fact_of,
)
from codex_mcp.wire.legacy import EventMsg, EventNote, TokenCounts

EVENT: Final = "codex/event"
USED: Final = "codex/usage"
FAILED: Final = "codex/failed"


class Used(Struct, frozen=True):
    """The parameters of USED."""

    turn_id: str
    total: TokenCounts
    last: TokenCounts


class Failed(Struct, frozen=True):
    """The parameters of FAILED."""

    turn_id: str
    why: str


_note = msgspec.json.Decoder(EventNote)
_msg = msgspec.json.Decoder(EventMsg)
_used = msgspec.json.Decoder(Used)
_failed = msgspec.json.Decoder(Failed)


def any_fact_of(method: str, params: Raw) -> Fact | None:
    """Return what a notification of any core means for a turn, if anything."""
    try:
        if method == EVENT:
            note = _note.decode(params)
            msg = _msg.decode(note.msg)
            reader = READERS.get(msg.type)
            return None if reader is None else reader(msg.turn_id or note.id, msg)
        if method == USED:
            used = _used.decode(params)
            return TokensCounted(used.turn_id, _tokens(used.total), _tokens(used.last))
        if method == FAILED:
            failed = _failed.decode(params)
            return TurnEnded(failed.turn_id, "failed", failed.why)
    except msgspec.MsgspecError:
        return None
    return fact_of(method, params)


def _tokens(counts: TokenCounts) -> Tokens:
    return Tokens(
        input_tokens=counts.input_tokens,
        cached_input_tokens=counts.cached_input_tokens,
        output_tokens=counts.output_tokens,
        reasoning_output_tokens=counts.reasoning_output_tokens,
        total_tokens=counts.total_tokens,
    )


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
