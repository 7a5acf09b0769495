"""Pure. The result of the demo, and its cost."""

from __future__ import annotations

import posixpath

from codex_mcp.cli.mcp_client.messages import FileChanged, ToolResult, TurnResult


def verdict(result: ToolResult, *, passed: bool, refused: bool) -> str:
    if passed:
        return "The test passes now"
    if refused:
        return "You denied it, so the test still fails"
    return "The turn failed, and the test still fails" if result.is_error else "The test still fails"


def rows(result: ToolResult, last_line: str, folder: str, seconds: float) -> dict[str, str]:
    """The card's lines by name. `last_line` is the last output of the demo's own run of the test."""
    check = f"the demo ran the test itself: {last_line}"
    turn = result.structured_content
    if turn is None:
        return {"error": result.text, "check": check, "time": f"{seconds:.1f} s in all"}
    return {
        "answer": turn.content,
        "check": check,
        "files": ", ".join(_file(changed, folder) for changed in turn.files_changed) or "none changed",
        "thread": turn.thread_id,
        "tokens": _tokens(turn),
        "time": f"{turn.duration_seconds:.1f} s for the turn, {seconds:.1f} s in all",
    }


def _file(changed: FileChanged, folder: str) -> str:
    inside = changed.path.startswith(f"{folder}/")
    return f"{posixpath.relpath(changed.path, folder) if inside else changed.path} ({changed.kind})"


def _tokens(turn: TurnResult) -> str:
    usage = turn.usage
    return (
        f"{usage.input_tokens:,} in ({usage.cached_input_tokens:,} cached), "
        f"{usage.output_tokens:,} out, as the script counts them"
    )
