"""Calls of tools, searches, pictures and other agents."""

import pytest

from codex_mcp.threads.events.tools import (
    agent_begin,
    agent_end,
    dynamic_end,
    mcp_begin,
    mcp_end,
    picture_end,
    search_action,
    search_end,
    status,
)
from codex_mcp.wire.app.items import (
    AgentState,
    CollabToolCall,
    DynamicToolCall,
    ImageGeneration,
    McpToolCall,
    ToolError,
    WebSearch,
)

INVOCATION = {"server": "wiki", "tool": "find", "arguments": {"pageName": "Home"}}


def call(
    status: str = "completed", result: dict[str, object] | None = None, error: ToolError | None = None
) -> McpToolCall:
    arguments = {"pageName": "Home"}
    return McpToolCall("call-3", None, "wiki", "find", arguments, status, result=result, error=error, duration_ms=2)


def test_an_mcp_call_begins_and_ends_with_its_invocation() -> None:
    item = call(result={"content": [], "structuredContent": None, "_meta": None})
    assert mcp_begin(item) == {"type": "mcp_tool_call_begin", "call_id": "call-3", "invocation": INVOCATION}
    assert mcp_end(item) == {
        "type": "mcp_tool_call_end",
        "call_id": "call-3",
        "invocation": INVOCATION,
        "duration": {"secs": 0, "nanos": 2_000_000},
        "result": {"Ok": {"content": []}},
    }


@pytest.mark.parametrize(
    ("item", "why"),
    [(call("failed", error=ToolError("no such page")), "no such page"), (call("failed"), "the call is failed")],
)
def test_a_failed_mcp_call_says_why(item: McpToolCall, why: str) -> None:
    assert mcp_end(item)["result"] == {"Err": why}


def test_a_call_of_a_tool_of_ours_ends() -> None:
    item = DynamicToolCall("call-4", tool="weather", arguments={"city": "Oslo"}, success=True, duration_ms=5)
    assert dynamic_end(item, "turn-1", 9) == {
        "type": "dynamic_tool_call_response",
        "call_id": "call-4",
        "turn_id": "turn-1",
        "completed_at_ms": 9,
        "namespace": None,
        "tool": "weather",
        "arguments": {"city": "Oslo"},
        "content_items": [],
        "success": True,
        "error": None,
        "duration": {"secs": 0, "nanos": 5_000_000},
    }


def test_a_search_says_what_it_did() -> None:
    opened = WebSearch("ws-1", query="", action={"type": "openPage", "url": "https://example.org", "extra": None})
    assert search_action(opened) == {"type": "open_page", "url": "https://example.org"}
    assert search_end(WebSearch("ws-1", query="weather")) == {
        "type": "web_search_end",
        "call_id": "ws-1",
        "query": "weather",
        "action": {"type": "other"},
    }


def test_a_picture_is_told_with_what_is_known_of_it() -> None:
    item = ImageGeneration("ig-1", status="completed", result="aGk=", saved_path="/x/i.png")
    assert picture_end(item) == {
        "type": "image_generation_end",
        "call_id": "ig-1",
        "status": "completed",
        "result": "aGk=",
        "saved_path": "/x/i.png",
    }


def test_a_picture_without_its_data_has_an_empty_result() -> None:
    """0.153.4 always sent a string, and its clients read one."""
    assert picture_end(ImageGeneration("ig-1", status="completed", result=None))["result"] == ""


def agent_call(tool: str) -> CollabToolCall:
    states = {"thread-2": AgentState("completed", "all green")}
    return CollabToolCall("call-5", None, tool, "thread-1", ["thread-2"], "Test it.", "gpt-5.5", "low", states)


@pytest.mark.parametrize(
    ("tool", "kind"),
    [
        ("spawnAgent", "collab_agent_spawn"),
        ("sendInput", "collab_agent_interaction"),
        ("sendMessage", "collab_agent_interaction"),
        ("followupTask", "collab_agent_interaction"),
        ("wait", "collab_waiting"),
        ("closeAgent", "collab_close"),
        ("resumeAgent", "collab_resume"),
    ],
)
def test_every_tool_has_its_pair_of_events(tool: str, kind: str) -> None:
    begin, end = agent_begin(agent_call(tool), 1), agent_end(agent_call(tool), 2)
    assert begin is not None
    assert end is not None
    shared = {"call_id": "call-5", "sender_thread_id": "thread-1"}
    assert begin.items() >= {"type": f"{kind}_begin", "started_at_ms": 1, **shared}.items()
    assert end.items() >= {"type": f"{kind}_end", "completed_at_ms": 2, **shared}.items()


def test_tools_that_had_no_event_have_none() -> None:
    assert agent_begin(agent_call("listAgents"), 1) is None
    assert agent_end(agent_call("listAgents"), 1) is None


def test_a_started_agent_is_named_when_it_is_there() -> None:
    end = agent_end(agent_call("spawnAgent"), 2)
    assert end is not None
    assert (end["new_thread_id"], end["prompt"], end["status"]) == ("thread-2", "Test it.", {"completed": "all green"})


def test_an_agent_that_did_not_start_has_no_thread() -> None:
    end = agent_end(CollabToolCall("call-5", tool="spawnAgent"), 2)
    assert end is not None
    assert (end["new_thread_id"], end["status"]) == (None, "not_found")


def test_awaited_agents_are_told_one_by_one() -> None:
    end = agent_end(agent_call("wait"), 2)
    assert end is not None
    assert end["statuses"] == {"thread-2": {"completed": "all green"}}


def test_a_status_is_a_word_or_a_word_with_a_text() -> None:
    assert status(AgentState("pendingInit")) == "pending_init"
    assert status(AgentState("errored", "no key")) == {"errored": "no key"}
