"""Pure. What the core's notifications mean for a turn: the few facts that decide anything.

Everything else in the stream is for people to look at; `codex.events` turns that into `codex/event` messages.
A notification that is none of these, or cannot be read, is no fact.
"""

from __future__ import annotations

from typing import Final, TypeAlias

import msgspec
from msgspec import Raw, Struct


class TurnStarted(Struct, frozen=True):
    """The core began a turn."""

    turn_id: str


class TurnEnded(Struct, frozen=True):
    """The core finished a turn: completed, interrupted or failed."""

    turn_id: str
    status: str
    error: str | None


class MessageSaid(Struct, frozen=True):
    """The agent finished a message."""

    turn_id: str
    text: str


class MessageStreamed(Struct, frozen=True):
    """The agent goes on with a message."""

    turn_id: str
    item_id: str
    delta: str


class CommandStarted(Struct, frozen=True):
    """A command runs (or waits for its approval)."""

    turn_id: str
    item_id: str
    command: str
    process_id: str | None


class ItemEnded(Struct, frozen=True):
    """A command, a patch or a tool call is over."""

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
    """One file of a patch."""

    path: str
    kind: str


class TokensCounted(Struct, frozen=True):
    """What the thread has used up, and what the newest request to the model used. It may be told more than once."""

    turn_id: str
    total: Tokens
    last: Tokens


class Tokens(Struct, frozen=True, rename="camel"):
    """Token counts as the core gives them."""

    input_tokens: int = 0
    cached_input_tokens: int = 0
    output_tokens: int = 0
    reasoning_output_tokens: int = 0
    total_tokens: int = 0


class ErrorReported(Struct, frozen=True):
    """The core could not reach the model, or something worse."""

    turn_id: str
    message: str
    will_retry: bool
    details: str = ""
    """What went wrong, where the message says only what is done about it."""


class QuestionWithdrawn(Struct, frozen=True):
    """The core no longer waits for the answer to this request of its own."""

    request_id: int | str


class ThreadUnloaded(Struct, frozen=True):
    """The core has put the thread away; it must be resumed before its next turn."""


Fact: TypeAlias = (
    TurnStarted
    | TurnEnded
    | MessageSaid
    | MessageStreamed
    | CommandStarted
    | ItemEnded
    | ToolStarted
    | FilesChanged
    | TokensCounted
    | ErrorReported
    | QuestionWithdrawn
    | ThreadUnloaded
)


class _Error(Struct, rename="camel"):
    message: str = ""
    additional_details: str | None = None


class _Turn(Struct, rename="camel"):
    id: str
    status: str = ""
    error: _Error | None = None


class _TurnParams(Struct, rename="camel"):
    turn: _Turn


class _Change(Struct, rename="camel"):
    path: str
    kind: dict[str, object]


class _Item(Struct, rename="camel"):
    type: str
    id: str = ""
    text: str = ""
    command: str = ""
    process_id: str | None = None
    status: object = None
    changes: list[_Change] = []
    tool: str = ""
    server: str = ""


class _ItemParams(Struct, rename="camel"):
    item: _Item
    turn_id: str = ""


class _Usage(Struct, rename="camel"):
    total: Tokens
    last: Tokens


class _DeltaParams(Struct, rename="camel"):
    delta: str
    item_id: str = ""
    turn_id: str = ""


class _UsageParams(Struct, rename="camel"):
    token_usage: _Usage
    turn_id: str = ""


class _ErrorParams(Struct, rename="camel"):
    error: _Error
    will_retry: bool = False
    turn_id: str = ""


class _ResolvedParams(Struct, rename="camel"):
    request_id: int | str


_delta = msgspec.json.Decoder(_DeltaParams)


def _turn_started(raw: Raw) -> Fact:
    return TurnStarted(_turn(raw).id)


def _turn_ended(raw: Raw) -> Fact:
    turn = _turn(raw)
    return TurnEnded(turn.id, turn.status, turn.error.message if turn.error is not None else None)


def _turn(raw: Raw) -> _Turn:
    return msgspec.json.decode(raw, type=_TurnParams).turn


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
"""Item types a person would want to hear about while waiting, in words."""


def _item_started(raw: Raw) -> Fact | None:
    params = msgspec.json.decode(raw, type=_ItemParams)
    item = params.item
    if item.type == "commandExecution":
        return CommandStarted(params.turn_id, item.id, item.command, item.process_id)
    if item.type == "fileChange":
        return ToolStarted(params.turn_id, item.id, f"patching {', '.join(change.path for change in item.changes)}")
    activity = ACTIVITIES.get(item.type)
    if activity is None:
        return None
    name = ".".join(part for part in (item.server, item.tool) if part)
    return ToolStarted(params.turn_id, item.id, f"{activity} {name}".rstrip())


def _item_ended(raw: Raw) -> Fact | None:
    params = msgspec.json.decode(raw, type=_ItemParams)
    item = params.item
    if item.type == "agentMessage":
        return MessageSaid(params.turn_id, item.text)
    if item.type == "fileChange" and item.status == "completed":
        changes = tuple(FileChange(change.path, str(change.kind.get("type", "update"))) for change in item.changes)
        return FilesChanged(params.turn_id, item.id, changes)
    return ItemEnded(params.turn_id, item.id)


def _tokens_counted(raw: Raw) -> Fact:
    params = msgspec.json.decode(raw, type=_UsageParams)
    return TokensCounted(params.turn_id, params.token_usage.total, params.token_usage.last)


def _error_reported(raw: Raw) -> Fact:
    params = msgspec.json.decode(raw, type=_ErrorParams)
    details = params.error.additional_details or ""
    return ErrorReported(params.turn_id, params.error.message, params.will_retry, details)


def _message_streamed(raw: Raw) -> Fact:
    params = _delta.decode(raw)
    return MessageStreamed(params.turn_id, params.item_id, params.delta)


def _question_withdrawn(raw: Raw) -> Fact:
    return QuestionWithdrawn(msgspec.json.decode(raw, type=_ResolvedParams).request_id)


def _thread_unloaded(raw: Raw) -> Fact:
    return ThreadUnloaded()


READERS: Final = {
    "turn/started": _turn_started,
    "turn/completed": _turn_ended,
    "item/started": _item_started,
    "item/completed": _item_ended,
    "item/agentMessage/delta": _message_streamed,
    "thread/tokenUsage/updated": _tokens_counted,
    "error": _error_reported,
    "serverRequest/resolved": _question_withdrawn,
    "thread/closed": _thread_unloaded,
}


def fact_of(method: str, params: Raw) -> Fact | None:
    """Return what this notification means for a turn, if anything."""
    reader = READERS.get(method)
    if reader is None:
        return None
    try:
        return reader(params)
    except msgspec.MsgspecError:
        return None
