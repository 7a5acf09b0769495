"""Events under another name."""

import pytest

from codex_mcp.codex.events.renamed import RENAMED, renamed
from codex_mcp.wire.app.notifications import OtherNotification

IDS = {"threadId": "thread-1", "turnId": "turn-1"}


@pytest.mark.parametrize(
    ("kind", "params", "fields"),
    [
        ("warning", {"message": "Mind the gap"}, {"message": "Mind the gap"}),
        ("deprecation_notice", {"summary": "old", "details": None}, {"summary": "old"}),
        (
            "model_reroute",
            {"fromModel": "a", "toModel": "b", "reason": "highRiskCyberActivity"},
            {"from_model": "a", "to_model": "b", "reason": "high_risk_cyber_activity"},
        ),
        ("environment_connected", {"environmentId": "local"}, {"environment_id": "local"}),
        (
            "hook_started",
            {"run": {"eventName": "preToolUse", "statusMessage": "camelCase", "durationMs": 1}},
            {"run": {"event_name": "pre_tool_use", "status_message": "camelCase", "duration_ms": 1}},
        ),
        ("shutdown_complete", {}, {}),
    ],
)
def test_the_fields_are_the_same(kind: str, params: dict[str, object], fields: dict[str, object]) -> None:
    [method] = [method for method, name in RENAMED.items() if name == kind]
    assert renamed(OtherNotification(method, {**IDS, **params})) == {"type": kind, **fields}


def test_a_notification_cannot_call_itself_something_else() -> None:
    note = OtherNotification("warning", {"type": "error", "message": "x"})
    assert renamed(note) == {"type": "warning", "message": "x"}
