"""Counterparts of the recordings 12 and 14: MCP servers inside Codex."""

import sys
from pathlib import Path

import msgspec
import pytest

from tests.acceptance.recordings.exchange import (
    BEGUN,
    ENDED,
    answered,
    as_recorded,
    event_of,
    event_types,
    scene,
    serve,
    thread_of,
)
from tests.support.clients import mcp_tool_server
from tests.support.servers.mcp_server import Json, McpServer

INNER = (
    f"mcp_servers.inner.command={msgspec.json.encode(sys.executable).decode()}",
    f"mcp_servers.inner.args={msgspec.json.encode([mcp_tool_server.__file__]).decode()}",
)
BROKEN = ("mcp_servers.broken.command=/no/such/program",)
TRUSTED = ("mcp_servers.inner.tools.echo.approval_mode=approve",)

CALLED = ["mcp_tool_call_begin", "mcp_tool_call_end", "token_count"]
ASKED = ["mcp_tool_call_begin", "elicitation_request", "mcp_tool_call_end", "token_count"]
INVOCATION = {"server": "inner", "tool": "echo", "arguments": {"text": "hi"}}


def states(server: McpServer, call: int | str, name: str) -> list[str]:
    """What a server went through while it started."""
    updates = [event for event in server.events(call) if event["type"] == "mcp_startup_update"]
    return [update["status"]["state"] for update in updates if update["server"] == name]


def of_the_turn(server: McpServer, call: int | str) -> list[str]:
    """The types without those that tell how servers start, which come when they come."""
    return [kind for kind in event_types(server, call) if not kind.startswith(("mcp_startup", "session"))]


async def test_it_is_told_how_inner_servers_start_and_what_their_tools_say(tmp_path: Path) -> None:
    async with serve(tmp_path, overrides=(*INNER, *BROKEN, *TRUSTED)) as (server, _model):
        await server.initialize()
        opening = server.call("codex", {"prompt": scene("say", text="Hello to all.")})
        first = await server.result(opening)
        thread = thread_of(first)
        calling = server.call("codex-reply", {"threadId": thread, "prompt": scene("echo")})
        second = await server.result(calling)

        assert as_recorded(first) == answered(thread, "Hello to all.")
        assert states(server, opening, "inner") == ["starting", "ready"]
        assert states(server, opening, "broken") == ["starting", "failed"]
        # The last one: a server may have failed before the next one starts.
        complete = [event for event in server.events(opening) if event["type"] == "mcp_startup_complete"][-1]
        assert complete["ready"] == ["inner"]
        assert [failure["server"] for failure in complete["failed"]] == ["broken"]
        assert "No such file or directory" in complete["failed"][0]["error"]
        assert of_the_turn(server, opening) == [*BEGUN, *ENDED]

        assert event_types(server, calling) == [*BEGUN, *CALLED, *ENDED]
        end = event_of(server, calling, "mcp_tool_call_end")
        assert end["invocation"] == INVOCATION
        assert end["result"] == {"Ok": {"content": [{"type": "text", "text": "echo: {'text': 'hi'}"}]}}
        assert "echo: {'text': 'hi'}" in second["structuredContent"]["content"]


@pytest.mark.parametrize(
    "sandbox",
    [
        pytest.param("read-only", id="14_mcp_tool_needs_approval"),
        pytest.param("workspace-write", id="14_mcp_tool_needs_approval_ws"),
    ],
)
@pytest.mark.parametrize(
    ("answer", "echoed"),
    [({"action": "accept", "content": {}}, True), ({"action": "decline"}, False), ({"decision": "approved"}, True)],
)
async def test_a_tool_that_needs_approval_is_asked_about(
    tmp_path: Path, sandbox: str, answer: Json, *, echoed: bool
) -> None:
    async with serve(tmp_path, overrides=INNER) as (server, _model):
        await server.initialize()
        call = server.call("codex", {"prompt": scene("echo"), "sandbox": sandbox})
        question = await server.question()
        server.reply(question["id"], answer)
        result = await server.result(call)

        assert question["params"]["codex_elicitation"] == "mcp-elicitation"
        assert question["params"]["codex_mcp_server"] == "inner"
        assert 'Arguments: {"text":"hi"}' in question["params"]["message"]
        assert of_the_turn(server, call) == [*BEGUN, *ASKED, *ENDED]
        assert ("echo: {'text': 'hi'}" in result["structuredContent"]["content"]) is echoed
        server.close_stdin()
        assert await server.exit_code() == 0
