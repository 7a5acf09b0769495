"""What an event is for those who follow a thread."""

import pytest

from codex_mcp.mcp.control.following import kind_of


@pytest.mark.parametrize(
    ("event", "kind"),
    [
        ("task_started", "turn"),
        ("turn_aborted", "turn"),
        ("exec_command_begin", "item.started"),
        ("exec_command_output_delta", "item.text"),
        ("agent_message_content_delta", "item.text"),
        ("patch_apply_end", "item.ended"),
        ("agent_message", "item.ended"),
        ("token_count", "usage"),
        ("plan_update", "plan"),
        ("warning", "event"),
    ],
)
def test_each_event_has_a_kind(event: str, kind: str) -> None:
    assert kind_of(event) == kind
