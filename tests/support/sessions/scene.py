"""A server with the tools of sessions, its model, and the few words that tests need to talk with it."""

import contextlib
from collections.abc import AsyncIterator
from pathlib import Path

from codex_mcp.scripted_model.server import ScriptedModel
from tests.support.servers.mcp_server import Json, McpServer, scripted_server


@contextlib.asynccontextmanager
async def session_server(folder: Path, *flags: str) -> AsyncIterator[tuple[McpServer, ScriptedModel]]:
    """A server over stdio with every tool that it has without a team."""
    async with scripted_server(folder, "--tools", "sessions", *flags) as (server, model):
        await server.initialize()
        yield server, model


async def said(server: McpServer, prompt: str, **more: object) -> Json:
    """The structured answer to a prompt that succeeds."""
    result = await server.run("codex", {"prompt": prompt, **more})
    assert "isError" not in result, result
    structured: Json = result["structuredContent"]
    return structured


async def sessions(server: McpServer) -> list[Json]:
    """What listSessions returns."""
    listed: list[Json] = (await server.run("listSessions", {}))["structuredContent"]["sessions"]
    return listed


async def error(server: McpServer, tool: str, **arguments: object) -> str:
    """The text of a call that fails."""
    result = await server.run(tool, arguments)
    assert result["isError"] is True, result
    text: str = result["content"][0]["text"]
    return text


def asked(model: ScriptedModel) -> tuple[object, object]:
    """The model and the effort of the last request that the model received."""
    body = model.requests[-1].json
    reasoning = body.get("reasoning")
    return body["model"], reasoning.get("effort") if isinstance(reasoning, dict) else None


def texts(model: ScriptedModel) -> str:
    """The conversation in the last request that the model received."""
    return str(model.requests[-1].json["input"])
