"""Pure. The results of listSessions, ping and help, and warnings that come after a turn's own result."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Final

from codex_mcp.base.timestamps import format_timestamp
from codex_mcp.mcp.schema.catalogue import Tool
from codex_mcp.mcp.schema.fields import Field
from codex_mcp.mcp.schema.results import Result, text_block, written
from codex_mcp.sessions.session import NamedSession, Resumed
from codex_mcp.threads.record import Status

NONE: Final = "No active sessions"


def sessions_result(sessions: Sequence[NamedSession]) -> Result:
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


def help_result(tools: Sequence[Tool], version: str) -> Result:
    lines = [f"codex-mcp {version}: Codex coding agents as MCP tools."]
    for tool in tools:
        lines.append(f"\n{tool.name}: {tool.description}")
        lines += [f"  {_name(field)}: {field.description}" for field in tool.fields]
    return written("\n".join(lines))


def _name(field: Field) -> str:
    return f"{field.name} (required)" if field.required else field.name


def with_warning(result: Result, warning: str) -> Result:
    """A turn's result with one more warning, in its text and its structured content."""
    structured = result.get("structuredContent")
    if not isinstance(structured, dict):
        return result
    more = {**structured, "warnings": [*structured.get("warnings", ()), warning]}
    block = text_block(f"Warning: {warning}")
    content = result.get("content")
    return {**result, "content": [*(content if isinstance(content, list) else []), block], "structuredContent": more}


def with_path(result: Result, resumed: Resumed) -> Result:
    """A turn's result that says how this call came by its thread; a later call may have come by it another way."""
    structured = result.get("structuredContent")
    if not isinstance(structured, dict) or "session" not in structured:
        return result
    return {**result, "structuredContent": {**structured, "session": {**structured["session"], "resumed": resumed}}}


def with_text_for_silence(result: Result, text: str) -> Result:
    """A turn's result; if the turn succeeded and its agent said nothing, the text says so."""
    structured = result.get("structuredContent")
    is_done = isinstance(structured, dict) and structured.get("status") == Status.COMPLETED
    if not is_done or not isinstance(structured, dict) or structured.get("content"):
        return result
    content = result.get("content")
    rest = [block for block in content if block != text_block("")] if isinstance(content, list) else []
    return {**result, "content": [text_block(text), *rest]}
