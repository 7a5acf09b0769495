"""Pure. What a core's notifications mean for a turn: its start and end, messages, commands, tools, tokens and errors.

`fact_of` reads the notifications of the app-server, `codex.legacy.facts` the events of an old Codex. The events that
clients see are made separately, in `threads.events`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final, TypeAlias

from msgspec import Struct
from msgspec.structs import replace

from codex_mcp.wire.app import items, notifications
from codex_mcp.wire.jsonrpc import Id


class TurnStarted(Struct, frozen=True):
    turn_id: str
    root_turn_id: str = ""
    """The turn that led to it; itself, if a client or Codex began it. Empty if the core does not say."""


class TurnEnded(Struct, frozen=True):
    turn_id: str
    status: str
    """completed, interrupted or failed"""
    error: str | None
    code: str = ""
    """The kind of error, in snake_case; empty if the core does not say."""


class MessageSaid(Struct, frozen=True):
    turn_id: str
    text: str


class PromptHeard(Struct, frozen=True):
    """The core has put a message of the user into the conversation, with the id that we gave it."""

    turn_id: str
    message_id: str


class MessageStreamed(Struct, frozen=True):
    """A piece of a message of the agent."""

    turn_id: str
    item_id: str
    delta: str


class CommandStarted(Struct, frozen=True):
    """A command runs, or waits for its approval."""

    turn_id: str
    item_id: str
    command: str
    process_id: str | None


class ItemEnded(Struct, frozen=True):
    """A command, a patch or a tool call has ended."""

    turn_id: str
    item_id: str


class ToolStarted(Struct, frozen=True):
    """The agent does something else that takes time."""

    turn_id: str
    item_id: str
    activity: str


class FilesChanged(Struct, frozen=True):
    """A patch was applied."""

    turn_id: str
    item_id: str
    changes: tuple[FileChange, ...]


class FileChange(Struct, frozen=True):
    path: str
    kind: str
    added: int | None = None
    removed: int | None = None
    """Lines; None if they were not counted."""
    is_certain: bool = True
    """False if another turn may have made the change: it ran in the same checkout at the same time."""


class TokensCounted(Struct, frozen=True):
    """The tokens of the thread, and those of its newest request to the model. May be reported more than once."""

    turn_id: str
    total: Tokens
    last: Tokens


class ResponseUsed(Struct, frozen=True):
    """The tokens of one request. Of a review, whose thread is hidden, these are the only ones that are reported."""

    turn_id: str
    tokens: Tokens


class Tokens(Struct, frozen=True, rename="camel"):
    input_tokens: int = 0
    cached_input_tokens: int = 0
    output_tokens: int = 0
    reasoning_output_tokens: int = 0
    total_tokens: int = 0
    requests: int = 0
    """Requests to the model that used them; Codex does not say how many a thread has made."""


class ErrorReported(Struct, frozen=True):
    """The core could not reach the model, or another error occurred."""

    turn_id: str
    message: str
    will_retry: bool
    details: str = ""
    """The cause, if the message only says what Codex does about the error."""


class QuestionWithdrawn(Struct, frozen=True):
    """The core no longer waits for the answer to its request."""

    request_id: Id


class GoalChanged(Struct, frozen=True):
    """The thread has this goal now; None if it has none any longer."""

    goal: notifications.Goal | None


class ApprovalReviewed(Struct, frozen=True):
    """Codex has decided about an approval itself, in a thread that it hides. That has used tokens."""


class ThreadUnloaded(Struct, frozen=True):
    """The core has unloaded the thread; it must be resumed before its next turn."""


TurnFact: TypeAlias = (
    TurnStarted
    | TurnEnded
    | MessageSaid
    | PromptHeard
    | MessageStreamed
    | CommandStarted
    | ItemEnded
    | ToolStarted
    | FilesChanged
    | TokensCounted
    | ResponseUsed
    | ErrorReported
)

Fact: TypeAlias = TurnFact | QuestionWithdrawn | GoalChanged | ApprovalReviewed | ThreadUnloaded


ACTIVITIES: Final = {
    "reasoning": "thinking",
    "agentMessage": "writing",
    "mcpToolCall": "calling a tool",
    "dynamicToolCall": "calling a tool",
    "webSearch": "searching the web",
    "imageView": "looking at an image",
    "contextCompaction": "compacting the conversation",
    "collabAgentToolCall": "working with another agent",
    "plan": "planning",
}
"""Progress texts by item type."""


def tokens_of(counts: Struct) -> Tokens:
    """The counts of a core that uses the same field names."""
    return Tokens(*(getattr(counts, name, 0) for name in Tokens.__struct_fields__))


def _item_started(note: notifications.ItemStarted | notifications.OtherItemStarted) -> Fact | None:
    match note.item:
        case items.CommandExecution(id=item_id) as item:
            return CommandStarted(note.turn_id, item_id, item.command, item.process_id)
        case items.OtherItem(type="commandExecution", id=item_id) as other:
            return CommandStarted(note.turn_id, item_id, other.command, other.process_id)
        case items.FileChange(id=item_id, changes=changes):
            return ToolStarted(note.turn_id, item_id, f"patching {', '.join(change.path for change in changes)}")
        case items.McpToolCall(id=item_id, server=server, tool=tool):
            name = ".".join(part for part in (server, tool) if part)
        case items.DynamicToolCall(id=item_id, tool=name) | items.CollabToolCall(id=item_id, tool=name):
            pass
        case other_item:
            item_id, name = other_item.id, ""
    activity = ACTIVITIES.get(_type_of(note.item))
    return None if activity is None else ToolStarted(note.turn_id, item_id, f"{activity} {name}".rstrip())


def _item_ended(note: notifications.ItemCompleted | notifications.OtherItemCompleted) -> Fact:
    match note.item:
        case items.AgentMessage(text=text) | items.OtherItem(type="agentMessage", text=text):
            return MessageSaid(note.turn_id, text)
        case items.UserMessage(client_id=str(message_id)):
            return PromptHeard(note.turn_id, message_id)
        case items.ExitedReview(review=text) if text:
            return MessageSaid(note.turn_id, text)
        case items.FileChange(id=item_id, status="completed", changes=updates):
            return FilesChanged(note.turn_id, item_id, tuple(map(_file_change, updates)))
        case item:
            return ItemEnded(note.turn_id, item.id)


def _file_change(update: items.FileUpdate) -> FileChange:
    kind, lines = update.kind.type, update.diff.removesuffix("\n").split("\n") if update.diff else []
    match kind:
        case "add":
            added, removed = len(lines), 0
        case "delete":
            added, removed = 0, len(lines)
        case _:  # hunks, without the names of the files
            added, removed = (sum(line.startswith(sign) for line in lines) for sign in "+-")
    return FileChange(update.path, kind, added, removed)


def _turn_ended(note: notifications.TurnCompleted) -> Fact:
    turn = note.turn
    if turn.error is None:
        return TurnEnded(turn.id, turn.status, None)
    return TurnEnded(turn.id, turn.status, turn.error.message, _code(turn.error.codex_error_info))


def _code(info: object) -> str:
    """A codexErrorInfo is a name, or a name with details."""
    name = next(iter(info), "") if isinstance(info, dict) else info
    return "".join(f"_{char.lower()}" if char.isupper() else char for char in name) if isinstance(name, str) else ""


def _tokens_counted(note: notifications.UsageUpdated) -> Fact:
    return TokensCounted(note.turn_id, tokens_of(note.token_usage.total), tokens_of(note.token_usage.last))


def _response_used(note: notifications.RawResponseCompleted) -> Fact | None:
    return None if note.usage is None else ResponseUsed(note.turn_id, replace(tokens_of(note.usage), requests=1))


def _error_reported(note: notifications.ErrorReported) -> Fact:
    return ErrorReported(note.turn_id, note.error.message, note.will_retry, note.error.additional_details or "")


_OTHERS: Final[dict[str, Fact]] = {
    "thread/closed": ThreadUnloaded(),
    "item/autoApprovalReview/completed": ApprovalReviewed(),
}

_READERS: Final[dict[type[object], Callable[[Any], Fact | None]]] = {
    notifications.MessageDelta: lambda note: MessageStreamed(note.turn_id, note.item_id, note.delta),
    notifications.TurnStarted: lambda note: TurnStarted(note.turn.id, note.turn.root_turn_id or ""),
    notifications.TurnCompleted: _turn_ended,
    notifications.ItemStarted: _item_started,
    notifications.OtherItemStarted: _item_started,
    notifications.ItemCompleted: _item_ended,
    notifications.OtherItemCompleted: _item_ended,
    notifications.UsageUpdated: _tokens_counted,
    notifications.RawResponseCompleted: _response_used,
    notifications.ErrorReported: _error_reported,
    notifications.GoalUpdated: lambda note: GoalChanged(note.goal),
    notifications.GoalCleared: lambda note: GoalChanged(None),
    notifications.RequestResolved: lambda note: QuestionWithdrawn(note.request_id),
    notifications.OtherNotification: lambda note: _OTHERS.get(note.method),
}


def fact_of(note: notifications.AppNotification) -> Fact | None:
    """What a notification of the app-server means for a turn, if anything."""
    reader = _READERS.get(type(note))
    return None if reader is None else reader(note)


def _type_of(item: items.Item | items.OtherItem) -> str:
    return item.type if isinstance(item, items.OtherItem) else str(item.__struct_config__.tag)
