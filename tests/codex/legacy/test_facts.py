"""What the events of an old Codex mean for a turn."""

import msgspec
import pytest

from codex_mcp.codex.facts import (
    CommandStarted,
    ErrorReported,
    Fact,
    FileChange,
    FilesChanged,
    ItemEnded,
    MessageSaid,
    ToolStarted,
    TurnEnded,
    TurnStarted,
)
from codex_mcp.codex.legacy.facts import fact_of_event
from codex_mcp.wire.legacy import EventMsg

CHANGES = {"/x/new": {"type": "add", "content": ""}, "/x/old": {"type": "update", "unified_diff": ""}}


def fact(msg: dict[str, object], turn_id: str = "u") -> Fact | None:
    event = msgspec.convert(msg, EventMsg)
    return fact_of_event(event.turn_id or turn_id, event)


@pytest.mark.parametrize(
    ("msg", "expected"),
    [
        ({"type": "task_started", "turn_id": "v"}, TurnStarted("v")),
        ({"type": "task_started"}, TurnStarted("u")),
        ({"type": "task_complete", "last_agent_message": None}, TurnEnded("u", "completed", None)),
        ({"type": "task_complete", "error": {"message": "no"}}, TurnEnded("u", "failed", "no")),
        ({"type": "turn_aborted", "turn_id": None, "reason": "interrupted"}, TurnEnded("u", "interrupted", None)),
        ({"type": "agent_message", "message": "hi"}, MessageSaid("u", "hi")),
        (
            {"type": "exec_command_begin", "call_id": "c", "command": ["bash", "-lc", "ls a"], "process_id": "7"},
            CommandStarted("u", "c", "bash -lc 'ls a'", "7"),
        ),
        ({"type": "exec_command_end", "call_id": "c"}, ItemEnded("u", "c")),
        (
            {"type": "patch_apply_begin", "call_id": "c", "changes": CHANGES},
            ToolStarted("u", "c", "patching /x/new, /x/old"),
        ),
        (
            {"type": "patch_apply_end", "call_id": "c", "changes": CHANGES, "success": True},
            FilesChanged("u", "c", (FileChange("/x/new", "add"), FileChange("/x/old", "update"))),
        ),
        ({"type": "patch_apply_end", "call_id": "c", "changes": CHANGES, "success": False}, ItemEnded("u", "c")),
        (
            {"type": "mcp_tool_call_begin", "call_id": "c", "invocation": {"server": "s", "tool": "t"}},
            ToolStarted("u", "c", "calling a tool s.t"),
        ),
        ({"type": "mcp_tool_call_end", "call_id": "c"}, ItemEnded("u", "c")),
        ({"type": "web_search_begin", "call_id": "c"}, ToolStarted("u", "c", "searching the web")),
        ({"type": "web_search_end", "call_id": "c"}, ItemEnded("u", "c")),
        ({"type": "error", "message": "bad"}, ErrorReported("u", "bad", will_retry=False)),
        ({"type": "stream_error", "message": "again"}, ErrorReported("u", "again", will_retry=True)),
        ({"type": "token_count", "info": None}, None),
        ({"type": "something_new"}, None),
    ],
)
def test_an_event_is_a_fact_or_none(msg: dict[str, object], expected: Fact | None) -> None:
    assert fact(msg) == expected
