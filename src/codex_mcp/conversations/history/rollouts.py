"""Rollout files: which conversation a path names, and what was said in a conversation."""

from __future__ import annotations

import os
import re
from typing import Final

import msgspec

from codex_mcp.conversations.refusals import SHOWN, refused
from codex_mcp.threads.events import items as item_events
from codex_mcp.wire.app.client_requests import RawThreadAnswer
from codex_mcp.wire.app.items import UNREADABLE, Item
from codex_mcp.wire.app.notifications import ItemCompleted

_NAME: Final = re.compile(r"rollout-.+-([0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})\.jsonl")

SAID: Final = ("user_message", "agent_message", "agent_reasoning", "agent_reasoning_raw_content")
"""Events that 0.42.0 repeated from a rollout file."""


def conversation_in(codex_home: str, path: str) -> str | None:
    """The conversation of a rollout file below Codex's sessions folder, whether or not it exists; None for others."""
    if "\0" in path:
        return None
    folder = os.path.realpath(os.path.join(codex_home, "sessions"))
    resolved = os.path.realpath(path)
    named = _NAME.fullmatch(os.path.basename(resolved))
    is_inside = os.path.isabs(path) and os.path.commonpath([folder, resolved]) == folder
    return named[1] if named is not None and is_inside else None


def check_archivable(codex_home: str, path: str, conversation_id: str) -> None:
    """Raises RequestFailed, with the texts of 0.42.0."""
    folder = os.path.realpath(os.path.join(codex_home, "sessions"))
    shown = path[:SHOWN]
    if "\0" in path:
        raise refused(f"rollout path `{shown}` does not match conversation id {conversation_id[:SHOWN]}")
    resolved = os.path.realpath(path)
    if not os.path.isabs(path) or os.path.commonpath([folder, resolved]) != folder:
        raise refused(f"rollout path `{shown}` must be in sessions directory")
    if resolved == folder:
        raise refused(f"rollout path `{shown}` missing file name")
    if not resolved.endswith(f"{conversation_id}.jsonl") or conversation_in(codex_home, path) is None:
        raise refused(f"rollout path `{shown}` does not match conversation id {conversation_id[:SHOWN]}")


def initial_messages(read: RawThreadAnswer) -> list[dict[str, object]]:
    """What was said in a conversation, as events."""
    messages: list[dict[str, object]] = []
    for turn in read.thread.turns:
        for raw in turn.items:
            try:
                item: Item = msgspec.json.decode(raw, type=Item)
            except UNREADABLE:
                continue  # of a kind that was not said by anyone
            messages += [msg for msg in item_events.end(ItemCompleted(turn.id, item)) if msg["type"] in SAID]
    return messages
