"""What a turn can do without, of messages that were too long to be read."""

import msgspec
import pytest
from msgspec import Raw

from codex_mcp.codex.reading import belongs_to, must_be_whole, too_long

Json = dict[str, object]


def raw(params: object) -> Raw:
    return Raw(msgspec.json.encode(params))


@pytest.mark.parametrize(
    ("method", "params", "needed"),
    [
        ("item/agentMessage/delta", {"delta": "x"}, True),
        ("item/completed", {"item": {"type": "agentMessage"}}, True),
        ("item/completed", {"item": {"type": "commandExecution"}}, False),
        ("item/completed", {"item": {"type": "fileChange"}}, False),
        ("item/started", {"item": {"type": "fileChange"}}, True),
        ("item/started", {"item": {"type": "commandExecution"}}, False),
        ("turn/completed", {"turn": {"id": "u"}}, False),
        ("turn/diff/updated", {}, False),
        ("item/completed", {"item": "unreadable"}, False),
        ("codex/event", {"msg": {"type": "agent_message"}}, True),
        ("codex/event", {"msg": {"type": "agent_message_content_delta"}}, True),
        ("codex/event", {"msg": {"type": "exec_approval_request"}}, True),
        ("codex/event", {"msg": {"type": "apply_patch_approval_request"}}, True),
        ("codex/event", {"msg": {"type": "exec_command_end"}}, False),
        ("codex/event", {"msg": {"type": "task_complete"}}, False),
    ],
)
def test_a_turn_needs_all_of_what_the_agent_says_and_of_what_a_person_is_asked(
    method: str, params: Json, needed: object
) -> None:
    assert must_be_whole(method, raw(params)) is needed


@pytest.mark.parametrize(
    ("params", "owner"),
    [
        ({"threadId": "t", "message": "?"}, ("t", None)),
        ({"_meta": {"threadId": "t", "requestId": 7}}, ("t", 7)),
        ({"_meta": {"requestId": "r"}}, (None, "r")),
        ({}, (None, None)),
        ({"_meta": 7}, (None, None)),
    ],
)
def test_a_message_of_an_old_codex_names_its_thread_in_one_of_two_places(params: Json, owner: object) -> None:
    assert belongs_to(raw(params)) == owner


def test_the_error_names_the_message_the_limit_and_the_setting() -> None:
    text = too_long("turn/completed", "the message is larger than 9 bytes")
    assert "turn/completed" in text
    assert "larger than 9 bytes" in text
    assert "max_message_bytes" in text
