"""Counterparts of the recordings 01: the handshake."""

from pathlib import Path

import pytest

from codex_mcp.mcp.features.table import CAPABILITIES
from tests.acceptance.recordings.exchange import serve
from tests.support.servers.mcp_server import Json, McpServer

NEWEST = "2025-11-25"


def hello(revision: str = "2025-06-18", name: str = "someone", version: str = "1.0") -> Json:
    return {"protocolVersion": revision, "capabilities": {}, "clientInfo": {"name": name, "version": version}}


async def greeted(server: McpServer, params: Json) -> Json:
    return await server.result(server.request("initialize", params))


async def test_the_server_introduces_itself_lists_its_tools_and_greets_once(tmp_path: Path) -> None:
    async with serve(tmp_path) as (server, _model):
        greeting = await greeted(server, hello())
        server.notify("notifications/initialized")
        tools = (await server.result(server.request("tools/list")))["tools"]
        ping = await server.answer(server.request("ping"))
        again = await server.answer(server.request("initialize", hello(name="again", version="2")))
        server.close_stdin()

        assert await server.exit_code() == 0

    info = greeting["serverInfo"]
    assert greeting["protocolVersion"] == "2025-06-18"
    assert greeting["capabilities"] == {"tools": {}, **CAPABILITIES}
    assert (info["name"], info["title"]) == ("codex-mcp-server", "Codex")
    assert info["user_agent"].startswith(f"codex-mcp-server/{info['version']} (")
    assert info["user_agent"].endswith("(someone; 1.0)")
    assert [tool["name"] for tool in tools] == ["codex", "codex-reply", "codex_wait"]
    assert ping == {"jsonrpc": "2.0", "id": 2, "result": {}}
    assert again["error"] == {"code": -32600, "message": "initialize called more than once"}


async def test_the_two_old_tools_still_take_and_promise_what_they_did(tmp_path: Path) -> None:
    async with serve(tmp_path) as (server, _model):
        await server.initialize()
        codex, reply, _wait = (await server.result(server.request("tools/list")))["tools"]

    assert (codex["title"], reply["title"]) == ("Codex", "Codex Reply")
    assert codex["inputSchema"]["required"] == reply["inputSchema"]["required"] == ["prompt"]
    assert codex["inputSchema"]["additionalProperties"] is False
    old_arguments = {
        *("prompt", "model", "cwd", "approval-policy", "sandbox", "config"),
        *("base-instructions", "developer-instructions", "compact-prompt"),
    }
    assert old_arguments <= set(codex["inputSchema"]["properties"])
    assert {"threadId", "conversationId", "prompt"} <= set(reply["inputSchema"]["properties"])
    for tool in (codex, reply):
        assert tool["outputSchema"]["properties"]["threadId"]["type"] == "string"
        assert tool["outputSchema"]["properties"]["content"]["type"] == "string"
        assert {"threadId", "content"} <= set(tool["outputSchema"]["required"])


@pytest.mark.parametrize(
    ("asked", "agreed"),
    [
        ("2024-11-05", "2024-11-05"),
        ("2025-03-26", "2025-03-26"),
        ("2025-11-25", "2025-11-25"),
        ("2026-99-99", NEWEST),
        ("", NEWEST),
    ],
)
async def test_the_revision_is_agreed_on_and_not_echoed(tmp_path: Path, asked: str, agreed: str) -> None:
    async with serve(tmp_path) as (server, _model):
        assert (await greeted(server, hello(asked)))["protocolVersion"] == agreed


async def test_a_greeting_that_lacks_something_is_told_so_and_a_good_one_still_works(tmp_path: Path) -> None:
    whole = hello()
    without_version = {key: value for key, value in whole.items() if key != "protocolVersion"}
    async with serve(tmp_path) as (server, _model):
        for params in (without_version, {"protocolVersion": "2025-06-18"}, None):
            error = (await server.answer(server.request("initialize", params)))["error"]
            assert error["code"] == -32602
        assert (await greeted(server, whole))["protocolVersion"] == "2025-06-18"
