"""Other agents: each tool has its begin and its end, or none."""

import pytest

from codex_mcp.codex.events.agents import agent_begin, agent_end, status
from codex_mcp.wire.app.items import AgentState, CollabToolCall


def call(tool: str) -> CollabToolCall:
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
    begin, end = agent_begin(call(tool), 1), agent_end(call(tool), 2)
    assert begin is not None
    assert end is not None
    shared = {"call_id": "call-5", "sender_thread_id": "thread-1"}
    assert begin.items() >= {"type": f"{kind}_begin", "started_at_ms": 1, **shared}.items()
    assert end.items() >= {"type": f"{kind}_end", "completed_at_ms": 2, **shared}.items()


def test_tools_that_had_no_event_have_none() -> None:
    assert agent_begin(call("listAgents"), 1) is None
    assert agent_end(call("listAgents"), 1) is None


def test_a_started_agent_is_named_when_it_is_there() -> None:
    end = agent_end(call("spawnAgent"), 2)
    assert end is not None
    assert (end["new_thread_id"], end["prompt"], end["status"]) == ("thread-2", "Test it.", {"completed": "all green"})


def test_an_agent_that_did_not_start_has_no_thread() -> None:
    end = agent_end(CollabToolCall("call-5", tool="spawnAgent"), 2)
    assert end is not None
    assert (end["new_thread_id"], end["status"]) == (None, "not_found")


def test_awaited_agents_are_told_one_by_one() -> None:
    end = agent_end(call("wait"), 2)
    assert end is not None
    assert end["statuses"] == {"thread-2": {"completed": "all green"}}


def test_a_status_is_a_word_or_a_word_with_a_text() -> None:
    assert status(AgentState("pendingInit")) == "pending_init"
    assert status(AgentState("errored", "no key")) == {"errored": "no key"}
