"""Pure. Notifications that are old events under another name: the same fields, in snake_case."""

from __future__ import annotations

from typing import Final

from codex_mcp.codex.events.spelling import snake, snake_keys
from codex_mcp.wire.app.notifications import OtherNotification

RENAMED: Final = {
    "warning": "warning",
    "guardianWarning": "guardian_warning",
    "deprecationNotice": "deprecation_notice",
    "model/rerouted": "model_reroute",
    "model/verification": "model_verification",
    "model/safetyBuffering/updated": "safety_buffering",
    "thread/environment/connected": "environment_connected",
    "thread/environment/disconnected": "environment_disconnected",
    "modelProvider/authRecoveryStarted": "auth_recovery_started",
    "modelProvider/authRecoveryCompleted": "auth_recovery_completed",
    "hook/started": "hook_started",
    "hook/completed": "hook_completed",
    "thread/closed": "shutdown_complete",
}

# Their values are names, and were snake_case as well. All other strings are somebody's text.
NAMED_VALUES: Final = frozenset({"event_name", "execution_mode", "handler_type", "scope", "status", "source"})
NAMED_REASON: Final = "model_reroute"


def renamed(note: OtherNotification) -> dict[str, object]:
    """The event: everything but the ids, which are in the envelope, and what is empty."""
    kind = RENAMED[note.method]
    fields: dict[str, object] = {
        snake(name): snake_keys(value)
        for name, value in note.params.items()
        if name not in {"threadId", "turnId", "type"} and value is not None
    }
    run = fields.get("run")
    if isinstance(run, dict):
        fields["run"] = {name: _named(name, value) for name, value in run.items()}
    if kind == NAMED_REASON:
        fields["reason"] = snake(str(fields.get("reason", "")))
    return {"type": kind, **fields}


def _named(name: str, value: object) -> object:
    return snake(value) if name in NAMED_VALUES and isinstance(value, str) else value
