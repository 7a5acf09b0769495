"""The messages that the demo reads."""

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import Raw

from codex_mcp.cli.mcp_client.messages import (
    EVENTS,
    AgentMessage,
    Change,
    CommandEnded,
    Decision,
    Duration,
    TextPart,
    ToolResult,
    Warned,
    event_from,
)


def params(msg: object) -> Raw:
    return Raw(msgspec.json.encode({"_meta": {"requestId": 1, "threadId": "t"}, "id": "1", "msg": msg}))


def test_an_event_that_is_shown_is_read() -> None:
    assert event_from(params({"type": "agent_message", "message": "Hello", "phase": None})) == AgentMessage("Hello")
    assert event_from(params({"type": "error", "message": "No."})) == Warned("No.")


def test_other_events_are_passed_over() -> None:
    assert event_from(params({"type": "token_count", "info": {}})) is None


def test_an_event_of_another_shape_is_passed_over() -> None:
    assert event_from(params({"type": "agent_message"})) is None
    assert event_from(Raw(b'{"msg": 1}')) is None
    assert event_from(Raw(b"{}")) is None


@given(
    kind=st.sampled_from(sorted(EVENTS)),
    fields=st.dictionaries(st.sampled_from(["message", "text", "command", "changes"]), st.none() | st.text()),
)
def test_no_event_stops_the_show(kind: str, fields: dict[str, str | None]) -> None:
    event = event_from(params({**fields, "type": kind}))
    assert event is None or isinstance(event, EVENTS[kind])


@pytest.mark.parametrize(
    ("command", "line"),
    [
        (["/bin/bash", "-lc", "make check"], "make check"),
        (["sh", "-c", "a && b"], "a && b"),
        (["git", "status"], "git status"),
    ],
)
def test_a_command_is_shown_without_its_shell(command: list[str], line: str) -> None:
    assert CommandEnded(command, "", 0, Duration(0, 0)).line == line


def test_a_duration_is_given_in_seconds() -> None:
    assert CommandEnded([], "", 0, Duration(2, 500_000_000)).seconds == 2.5


def test_every_kind_of_change_has_lines_of_a_diff() -> None:
    assert Change("update", unified_diff="@@ -1 +1 @@\n-a\n+b\n").lines == ["@@ -1 +1 @@", "-a", "+b"]
    assert Change("add", content="a\nb\n").lines == ["+a", "+b"]
    assert Change("delete", content="a\n").lines == ["-a"]


def test_a_decision_is_said_in_the_words_of_the_protocol() -> None:
    assert Decision(approved=True).wire() == {"action": "accept", "content": {"decision": "approved"}}
    assert Decision(approved=False).wire() == {"action": "decline"}
    assert Decision(approved=False, reason="later").wire() == {
        "action": "accept",
        "content": {"decision": "denied", "reason": "later"},
    }


def test_the_texts_of_a_result_are_read_together() -> None:
    assert ToolResult([TextPart("one"), TextPart("two")]).text == "one\ntwo"
