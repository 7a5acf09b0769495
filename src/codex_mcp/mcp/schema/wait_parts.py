"""Pure. The result of a `codex_wait` about agents of several servers, from the results of its parts."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from msgspec import Struct

from codex_mcp.mcp.schema.results import FACTS, NOTHING_TO_REPORT, Result, ToolResult, written

NEWS: Final = ("finished", *FACTS.values())
LISTS: Final = (*NEWS, "running")


class Unreached(Struct, frozen=True):
    """A server that did not answer."""

    pid: int
    why: str


class Merged(Struct, frozen=True):
    result: ToolResult
    is_empty: bool
    """It tells no news."""


def is_asking(result: Result) -> bool:
    return isinstance(result, dict) and result.get("resultType") == "input_required"


def merged_parts(own: ToolResult, parts: Sequence[ToolResult], unreached: Sequence[Unreached]) -> Merged:
    """The answers of all servers as one, ours first. One that refused is told in words."""
    whole = [result for result in (own, *parts) if not result.is_error]
    telling = [result for result in whole if any(_list(result, name) for name in LISTS)]
    told = telling or whole  # unchanged turns are listed only if there is nothing else to tell
    data: dict[str, object] = {"finished": _all(told, "finished"), "running": _all(told, "running")}
    data |= {name: found for name in (*FACTS.values(), "unchanged") if (found := _all(told, name))}
    texts = [_text(result) for result in (*told, *(part for part in parts if part.is_error))]
    texts += [f"[server process {each.pid}] not reached\n{each.why}" for each in unreached]
    if unreached:
        data["unreached"] = [{"pid": each.pid, "why": each.why} for each in unreached]
    texts = [text for text in texts if text != NOTHING_TO_REPORT] or [NOTHING_TO_REPORT]
    links = [dict(block) for result in told for block in result.content if block.get("type") == "resource_link"]
    is_empty = not unreached and len(whole) == 1 + len(parts) and not any(_all(told, name) for name in NEWS)
    return Merged(written("\n\n".join(texts), data=data, links=links), is_empty)


def _all(results: Sequence[ToolResult], name: str) -> list[object]:
    return [each for result in results for each in _list(result, name)]


def _list(result: ToolResult, name: str) -> Sequence[object]:
    found = (result.data or {}).get(name)
    return found if isinstance(found, list) else []


def _text(result: ToolResult) -> str:
    return "\n\n".join(str(block["text"]) for block in result.content if block.get("type") == "text")
