"""What an old Codex sends, as far as it is read."""

import msgspec
from hypothesis import given
from hypothesis import strategies as st

from codex_mcp.wire import legacy


def test_an_event_says_to_which_call_and_thread_it_belongs() -> None:
    note = msgspec.json.decode(
        b'{"_meta": {"requestId": 3, "threadId": "t"}, "id": "u", "msg": {"type": "warning"}, "more": 1}',
        type=legacy.EventNote,
    )
    assert (note.meta.request_id, note.meta.thread_id, note.id) == (3, "t", "u")
    assert msgspec.convert(note.msg, legacy.EventMsg) == legacy.EventMsg("warning")


def test_an_event_of_an_older_release_may_lack_everything_but_its_message() -> None:
    note = msgspec.json.decode(b'{"msg": {}}', type=legacy.EventNote)
    assert note == legacy.EventNote(note.msg, "", legacy.EventMeta(None, None))


@given(st.lists(st.text()), st.booleans())
def test_an_answer_says_all_its_texts_in_order(texts: list[str], is_error: bool) -> None:  # noqa: FBT001
    encoded = msgspec.json.encode({"content": [{"type": "text", "text": text} for text in texts], "isError": is_error})
    result = msgspec.json.decode(encoded, type=legacy.CallResult)
    assert (result.text, result.is_error) == ("\n".join(texts), is_error)


def test_a_tool_may_take_nothing() -> None:
    tools = msgspec.json.decode(b'{"tools": [{"name": "x"}, {"name": "y", "inputSchema": {}}]}', type=legacy.Tools)
    assert [tool.input_schema.properties for tool in tools.tools] == [{}, {}]


def test_a_question_comes_with_the_event_that_announced_it_or_without() -> None:
    elicitation = {"codex_elicitation": "exec-approval", "threadId": "t", "codex_command": ["ls"]}
    announced = {"type": "exec_approval_request", "call_id": "c", "reason": "why", "available_decisions": ["abort", {}]}
    for event, reason in ((announced, "why"), ({}, None)):
        asked = msgspec.convert({"elicitation": elicitation, "announced": event}, legacy.LegacyApproval)
        assert (asked.thread_id, asked.elicitation.codex_command, asked.announced.reason) == ("t", ["ls"], reason)
