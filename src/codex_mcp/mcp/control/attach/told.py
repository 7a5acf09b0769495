"""Pure. Which messages of Codex a TUI still has to be told after it was given the conversation so far.

Codex goes on while the conversation is read. What came meanwhile may be part of it already: it must be shown once.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final

import msgspec
from msgspec import Raw, Struct

from codex_mcp.wire.jsonrpc import Notification

NOT_FOR_TUIS: Final = frozenset(
    {
        "serverRequest/resolved",
        "thread/closed",
        "thread/status/changed",
        "rawResponseItem/completed",
        "rawResponse/completed",
    }
)
"""Questions have other ids here; the server unloads and loads a thread as it needs; the others are for the server."""


class _Named(Struct, frozen=True):
    id: str = ""
    status: str = ""


class _About(Struct, frozen=True, rename="camel"):
    item: _Named = _Named()
    turn: _Named = _Named()
    item_id: str | None = None


class _Turn(Struct, frozen=True):
    id: str
    status: str = ""
    items: list[_Named] = []


class _Thread(Struct, frozen=True):
    turns: list[_Turn] = []


class Seen(Struct, frozen=True):
    """What the conversation so far has."""

    items: frozenset[str] = frozenset()
    turns: Mapping[str, bool] = {}
    """By id, whether it has ended."""


def seen_in(thread: Raw) -> Seen:
    """Nothing, if it cannot be read."""
    try:
        found = msgspec.json.decode(thread, type=_Thread)
    except msgspec.MsgspecError:
        return Seen()
    items = frozenset(item.id for turn in found.turns for item in turn.items if item.id)
    return Seen(items, {turn.id: turn.status != "inProgress" for turn in found.turns})


def still_to_tell(early: Iterable[Notification], seen: Seen) -> list[Notification]:
    return [message for message in early if not _is_seen(message, seen)]


def _is_seen(message: Notification, seen: Seen) -> bool:
    try:
        about = msgspec.json.decode(message.params, type=_About)
    except msgspec.MsgspecError:
        return False
    match message.method:
        case "turn/started":
            return about.turn.id in seen.turns
        case "turn/completed":
            return seen.turns.get(about.turn.id, False)
        case _:
            return (about.item.id or about.item_id or "") in seen.items


class _Begun(Struct, frozen=True):
    turn: Raw = Raw(b"{}")


def begun_turn(message: Notification) -> tuple[str, Raw]:
    """The id of the turn that this says has started, and the turn as Codex describes it."""
    raw = msgspec.json.decode(message.params, type=_Begun).turn
    return msgspec.json.decode(raw, type=_Named).id, raw


class _Typed(Struct, frozen=True):
    type: str = ""
    id: str = ""


class _Item(Struct, frozen=True):
    item: _Typed = _Typed()


def patch_in(message: Notification) -> str:
    """The id of the patch whose item this begins; empty if it is about something else."""
    try:
        item = msgspec.json.decode(message.params, type=_Item).item
    except msgspec.MsgspecError:
        return ""
    return item.id if item.type == "fileChange" else ""


class Typed(Struct, frozen=True):
    """A prompt that a person has typed in this TUI."""

    message_id: str
    """What the TUI calls it: it waits until Codex has it."""
    name: str
    """What we call it."""
    texts: tuple[str, ...]


def with_message_id(params: Raw, typed: Iterable[Typed]) -> tuple[object, Typed | None]:
    """The params of an item, and which of these prompts it is: then it has the id that the TUI waits for."""
    told: dict[str, object] = msgspec.json.decode(params)
    item = told.get("item")
    if not isinstance(item, dict) or item.get("type") != "userMessage":
        return params, None
    content = item.get("content")
    texts = [each.get("text") for each in content if isinstance(each, dict)] if isinstance(content, list) else []
    for each in typed:
        is_named = item.get("clientId") == each.name
        if is_named or (item.get("clientId") is None and all(text in texts for text in each.texts)):
            return {**told, "item": {**item, "clientId": each.message_id}}, each
    return params, None
