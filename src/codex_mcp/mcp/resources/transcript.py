"""Pure. A thread as Markdown: each turn with its prompt, what was done, and the answer."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Final

from codex_mcp.wire.app import items
from codex_mcp.wire.app.history import StoredThread, StoredTurn, read_items
from codex_mcp.wire.app.items import Item

OUTPUT_CHARS: Final = 20_000
"""What is shown of a command's output; the rollout file has the rest."""

_TICKS: Final = re.compile(r"`+")


def transcript(thread: StoredThread, turns: Sequence[StoredTurn], *, is_cut: bool) -> str:
    """The transcript of these turns, which are in order. `is_cut`: earlier turns are left out."""
    parts = [f"# Thread {thread.id}", f"Folder: {_code(thread.cwd)}" if thread.cwd else ""]
    if is_cut:
        parts.append(f"Earlier turns are left out. codex://threads/{thread.id}/rollout has all of them.")
    for number, turn in enumerate(turns, 1):
        parts += _turn(turn, "Turn" if is_cut else f"Turn {number}")
    return "\n\n".join(filter(None, parts)) + "\n"


def _turn(turn: StoredTurn, title: str) -> Iterator[str]:
    yield f"## {title}"
    for item in read_items(turn):
        yield from _shown(item)
    if turn.status == "inProgress":
        yield "*The turn is running.*"
    elif turn.status != "completed":
        why = f": {turn.error.message}" if turn.error is not None else ""
        yield f"*The turn was {turn.status}{why}*" if turn.status == "interrupted" else f"*The turn {turn.status}{why}*"


def _shown(item: Item) -> Iterator[str]:  # noqa: C901  one case for each kind of item
    match item:
        case items.UserMessage(content=content):
            yield "**User:**"
            for part in content:
                yield part.text if part.type == "text" else f"({part.type}: {part.path or _short(part.url)})"
        case items.AgentMessage(text=text) if text:
            yield f"**Codex:**\n\n{text}"
        case items.Reasoning(summary=summary) if any(summary):
            yield "\n".join(f"> {line}" for line in "\n".join(summary).splitlines())
        case items.CommandExecution() as command:
            ending = "" if command.exit_code is None else f" (exit code {command.exit_code})"
            yield f"Ran {_code(command.command)}, {command.status}{ending}"
            if command.aggregated_output:
                yield _block(_limited(command.aggregated_output))
        case items.FileChange(changes=changes, status=status):
            files = "\n".join(f"- {change.kind.type} {_code(change.path)}" for change in changes)
            yield f"Changed files, {status}:\n\n{files}"
        case items.McpToolCall() as call:
            yield f"Called {_code(f'{call.server}.{call.tool}')}, {call.status}"
        case items.DynamicToolCall() as call:
            yield f"Called {_code(call.tool)}"
        case items.CollabToolCall() as call:
            yield f"Called {_code(call.tool)} for another agent"
        case items.WebSearch(query=query):
            yield f"Searched the web for {_code(query)}"
        case items.ImageView(path=path):
            yield f"Looked at {_code(path)}"
        case items.ContextCompaction():
            yield "*The history of the thread was shortened here.*"
        case items.EnteredReview(review=review) | items.ExitedReview(review=review) if review:
            yield f"Review: {review}"


def _limited(text: str) -> str:
    left_out = len(text) - OUTPUT_CHARS
    return text if left_out <= 0 else f"{text[:OUTPUT_CHARS]}\n… {left_out} characters are left out"


def _block(text: str) -> str:
    """A code block that the text cannot end."""
    fence = "`" * max(3, 1 + max(map(len, _TICKS.findall(text)), default=0))
    return f"{fence}\n{text.rstrip()}\n{fence}"


def _code(text: str) -> str:
    line = " ".join(text.split())
    fence = "`" * (1 + max(map(len, _TICKS.findall(line)), default=0))
    space = " " if "`" in line else ""
    return f"{fence}{space}{line}{space}{fence}"


def _short(url: str | None) -> str:
    return (url or "")[:80]
