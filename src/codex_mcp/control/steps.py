"""Pure. What a reader means by an item of a turn: one function for turns that run and for old ones.

Texts are cut to what a page can show, and secrets are masked. Of output, the end counts; of other texts, the beginning.
"""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from typing import Final

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from codex_mcp.base.secrets.redact import redact
from codex_mcp.wire.app import items
from codex_mcp.wire.app.items import Item
from codex_mcp.wire.control_thread import FileStep, Look, Step


class Room(Struct, frozen=True):
    """How much of a step is told."""

    text: int
    """Characters of a text."""
    output: int
    lines: int


SHORT: Final = Room(16 * 1024, 4 * 1024, 12)
"""In a transcript with many steps."""

WHOLE: Final = Room(256 * 1024, 64 * 1024, 400)
"""Of a single step."""

MOST_FILES: Final = 100
MOST_LOOKS: Final = 50
LONGEST_NAME: Final = 500
"""Characters of a path or a name."""

WAITS: Final = "waits"
"""The status of a command that has not begun: a person may be asked about it."""

LOOKS: Final = {"read": "read", "listFiles": "list", "search": "search"}


def step_of(item: Item, room: Room = SHORT, *, ended: bool = True) -> Step:  # noqa: C901  one case a kind
    match item:
        case items.UserMessage():
            return _user(item, room)
        case items.AgentMessage(text=text):
            return _said("says", item.id, text, room, ended=ended)
        case items.Reasoning(summary=summary, content=content):
            return _said("thinks", item.id, "\n\n".join(filter(None, summary or content)), room, ended=ended)
        case items.CommandExecution():
            return _ran(item, room, ended=ended)
        case items.FileChange():
            return _changed(item, ended=ended)
        case items.McpToolCall():
            answer = item.error.message if item.error is not None else _texts(item.result)
            about = Step(id=item.id, kind="tool", tool=_name(item.tool), server=_name(item.server), ended=ended)
            return _called(about, item, answer, room)
        case items.DynamicToolCall():
            status = "failed" if item.success is False else ""
            about = Step(id=item.id, kind="tool", tool=_name(item.tool), status=status, ended=ended)
            return _called(about, item, _texts(item.content_items), room)
        case items.CollabToolCall():
            text, cut = _cut(item.prompt or "", room)
            return Step(id=item.id, kind="agent", ended=ended, tool=_name(item.tool), text=text, cut=cut)
        case items.WebSearch(query=query):
            return _said("search", item.id, query or _texts(item.action), room, ended=ended)
        case items.ImageView(path=path):
            return Step(id=item.id, kind="image", ended=ended, text=_name(path), pictures=[path])
        case items.ImageGeneration():
            text, cut = _cut(item.revised_prompt or "", room)
            pictures = [] if item.saved_path is None else [item.saved_path]
            return Step(id=item.id, kind="image", ended=ended, text=text, cut=cut, pictures=pictures, tool="generated")
        case items.EnteredReview(review=review) | items.ExitedReview(review=review):
            return _said("review", item.id, review, room, ended=ended)
        case items.ContextCompaction():
            return Step(id=item.id, kind="shortened", ended=ended)


def _said(kind: str, item_id: str, text: str, room: Room, *, ended: bool) -> Step:
    shown, cut = _cut(text, room)
    return Step(id=item_id, kind=kind, ended=ended, text=shown, cut=cut)


def _user(item: items.UserMessage, room: Room) -> Step:
    text, cut = _cut("\n".join(part.text for part in item.content if part.type == "text"), room)
    pictures = [part.path for part in item.content if part.type == "localImage" and part.path]
    return Step(id=item.id, kind="user", text=text, cut=cut, pictures=pictures)


def _ran(item: items.CommandExecution, room: Room, *, ended: bool) -> Step:
    text, cut = _cut(typed(item.command), room)
    output, lines = output_end(item.aggregated_output or "", room)
    looks = [Look(LOOKS[each.type], _name(_looked_at(each))) for each in item.command_actions if each.type in LOOKS]
    only_looks = len(looks) == len(item.command_actions) <= MOST_LOOKS
    return Step(
        id=item.id,
        kind="ran",
        ended=ended,
        status=item.status if ended or item.process_id or item.source != "agent" else WAITS,
        text=text,
        cut=cut,
        output=output,
        lines=lines,
        exit_code=item.exit_code,
        seconds=None if item.duration_ms is None else item.duration_ms / 1000,
        looks=looks if only_looks else [],
    )


def _looked_at(action: items.CommandAction) -> str:
    if action.type == "search":
        return " in ".join(filter(None, (action.query and f"“{action.query}”", action.path))) or action.command
    return action.path or action.name or action.command


def typed(line: str) -> str:
    """A command line without the shell that Codex puts around it."""
    try:
        words = shlex.split(line) if len(line) <= LONGEST_NAME * 100 else []
    except ValueError:
        return line
    return words[2] if len(words) == 3 and words[1] in ("-c", "-lc") else line


def output_end(text: str, room: Room) -> tuple[str, int]:
    """The last lines of output, and how many it has."""
    lines = text.count("\n") + bool(text and not text.endswith("\n"))
    end = text[-room.output :]
    kept = end.split("\n")
    most = room.lines + (not kept[-1])
    return redact("\n".join(kept[-most:])), lines


def _changed(item: items.FileChange, *, ended: bool) -> Step:
    files = [_file(each) for each in item.changes[:MOST_FILES]]
    cut = len(item.changes) - len(files)
    return Step(id=item.id, kind="changed", ended=ended, status=item.status, files=files, cut=cut)


def _file(change: items.FileUpdate) -> FileStep:
    lines = change.diff.splitlines()
    if change.kind.type == "update":
        in_hunks = [line for line in lines if not line.startswith(("+++ ", "--- "))]
        added, removed = (sum(line.startswith(sign) for line in in_hunks) for sign in "+-")
    else:
        added, removed = (len(lines), 0) if change.kind.type == "add" else (0, len(lines))
    moved = change.kind.move_path or ""
    return FileStep(path=_name(change.path), what=change.kind.type, moved_to=_name(moved), added=added, removed=removed)


def _called(about: Step, item: items.McpToolCall | items.DynamicToolCall, answer: str, room: Room) -> Step:
    text, cut = _cut(_json(item.arguments), room)
    output, lines = output_end(answer, room)
    seconds = None if item.duration_ms is None else item.duration_ms / 1000
    return replace(about, text=text, cut=cut, output=output, lines=lines, seconds=seconds)


def _json(value: object) -> str:
    if value in (None, {}, ""):
        return ""
    return value if isinstance(value, str) else msgspec.json.encode(value).decode()


def _texts(value: object, depth: int = 4) -> str:
    """The texts somewhere in an answer, which another program has made."""
    if not depth or isinstance(value, str | bytes):
        return ""
    if isinstance(value, Mapping):
        known = value.get("text")
        inner = [] if isinstance(known, str) else [_texts(each, depth - 1) for each in value.values()]
        return known if isinstance(known, str) else "\n".join(filter(None, inner))
    return "\n".join(filter(None, (_texts(each, depth - 1) for each in value))) if isinstance(value, Sequence) else ""


def _cut(text: str, room: Room) -> tuple[str, int]:
    return redact(text[: room.text]), max(0, len(text) - room.text)


def _name(text: str) -> str:
    return redact(text[:LONGEST_NAME])
