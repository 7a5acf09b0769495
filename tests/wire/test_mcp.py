"""MCP messages as clients write them, and as they read ours."""

import msgspec
import pytest
from msgspec import UNSET

from codex_mcp.wire import mcp


@pytest.mark.parametrize("revision", ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"])
def test_a_client_gets_the_revision_it_asks_for_if_we_speak_it(revision: str) -> None:
    assert mcp.negotiated(revision) == revision


@pytest.mark.parametrize("revision", ["", "2026-99-99", "2024-10-07", "latest"])
def test_a_client_that_asks_for_another_revision_gets_our_newest(revision: str) -> None:
    assert mcp.negotiated(revision) == "2025-11-25"


def test_initialize_is_read_and_what_we_do_not_know_is_ignored() -> None:
    text = b"""{"protocolVersion": "2025-06-18", "capabilities": {"elicitation": {}, "x": 1},
                "clientInfo": {"name": "tests", "title": "Tests", "version": "1"}, "_meta": {}}"""
    read = msgspec.json.decode(text, type=mcp.Initialize)
    assert read == mcp.Initialize("2025-06-18", {"elicitation": {}, "x": 1}, mcp.ClientInfo("tests", "1"))


@pytest.mark.parametrize("token", ["7", '"seven"', "0", '""'])
def test_a_call_may_bring_any_progress_token(token: str) -> None:
    text = f'{{"name": "codex", "arguments": {{"prompt": "x"}}, "_meta": {{"progressToken": {token}}}}}'
    call = msgspec.json.decode(text, type=mcp.CallTool)
    assert call == mcp.CallTool("codex", {"prompt": "x"}, mcp.Meta(msgspec.json.decode(token)))


@pytest.mark.parametrize("text", ['{"name": "codex"}', '{"name": "codex", "arguments": null, "_meta": {}}'])
def test_a_call_may_bring_nothing_but_its_name(text: str) -> None:
    call = msgspec.json.decode(text, type=mcp.CallTool)
    assert (call.arguments, call.meta.progress_token) == (None, UNSET)


def test_a_cancellation_names_its_request() -> None:
    read = msgspec.json.decode(b'{"requestId": "a", "reason": "bored"}', type=mcp.Cancelled)
    assert read == mcp.Cancelled("a", "bored")
    assert msgspec.json.decode(b'{"requestId": 0}', type=mcp.Cancelled) == mcp.Cancelled(0, None)


def test_what_we_send_has_the_names_of_the_wire() -> None:
    progress = mcp.Progress("token", 2.0, "thinking")
    event = mcp.CodexEvent(mcp.EventMeta(5, "thread-1"), {"type": "task_started"}, "turn-1")
    assert msgspec.to_builtins(progress) == {"progressToken": "token", "progress": 2.0, "message": "thinking"}
    assert msgspec.to_builtins(event) == {
        "_meta": {"requestId": 5, "threadId": "thread-1"},
        "msg": {"type": "task_started"},
        "id": "turn-1",
    }


def test_of_the_changes_that_a_client_wants_it_is_promised_those_that_the_server_tells() -> None:
    wanted = msgspec.json.decode(b'{"toolsListChanged": true, "promptsListChanged": true, "x": 1}', type=mcp.Wanted)
    promised = wanted.among({"tools": {"listChanged": True}, "prompts": {}, "resources": {"listChanged": True}})
    assert msgspec.json.encode(promised) == b'{"toolsListChanged":true}'
    assert [change for change in mcp.Change if promised.holds(change)] == [mcp.Change.TOOLS]
