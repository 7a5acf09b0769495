"""Pure. The results of listSessions, ping and help, and warnings that come after a turn's own result."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Final

from msgspec.structs import replace

from codex_mcp.base.timestamps import format_timestamp
from codex_mcp.mcp.schema.catalogue import Tool
from codex_mcp.mcp.schema.fields import Field
from codex_mcp.mcp.schema.results import Result, ToolResult, text_block, written
from codex_mcp.sessions.session import NamedSession, Resumed
from codex_mcp.threads.record import Status

NONE: Final = "No active sessions"


def sessions_result(sessions: Sequence[NamedSession]) -> ToolResult:
    """The text is JSON, as that of the npm package codex-mcp-server. `lastAccessedAt` is its name of `lastUsedAt`."""
    structured = [
        {
            "id": session.id,
            "createdAt": format_timestamp(session.created),
            "lastUsedAt": format_timestamp(session.used),
            "lastAccessedAt": format_timestamp(session.used),
            "turnCount": session.turns,
            "conversationId": session.thread,
            "model": session.model,
        }
        for session in sessions
    ]
    text = json.dumps(structured, indent=2, ensure_ascii=False) if structured else NONE
    return written(text, data={"sessions": structured})


def help_result(tools: Sequence[Tool], version: str) -> ToolResult:
    lines = [f"codex-mcp {version}: Codex coding agents as MCP tools."]
    for tool in tools:
        lines.append(f"\n{tool.name}: {tool.description}")
        lines += [f"  {_name(field)}: {field.description}" for field in tool.fields]
    return written("\n".join(lines))


def _name(field: Field) -> str:
    return f"{field.name} (required)" if field.required else field.name


def with_warning(result: Result, warning: str) -> Result:
    """A turn's result with one more warning, in its text and its structured content."""
    if not isinstance(result, ToolResult) or result.data is None:
        return result
    before = result.data.get("warnings", ())
    assert isinstance(before, Sequence)
    content = [*result.content, text_block(f"Warning: {warning}")]
    return replace(result, content=content, data={**result.data, "warnings": [*before, warning]})


def with_path(result: Result, resumed: Resumed) -> Result:
    """A turn's result that says how this call came by its thread; a later call may have come by it another way."""
    session = (result.data or {}).get("session") if isinstance(result, ToolResult) else None
    if not isinstance(result, ToolResult) or not isinstance(session, Mapping):
        return result
    return replace(result, data={**(result.data or {}), "session": {**session, "resumed": resumed}})


def with_text_for_silence(result: Result, text: str) -> Result:
    """A turn's result; if the turn succeeded and its agent said nothing, the text says so."""
    if not isinstance(result, ToolResult) or result.status != Status.COMPLETED or (result.data or {}).get("content"):
        return result
    return replace(result, content=[text_block(text), *(each for each in result.content if each != text_block(""))])
