"""Pure. What is said piece by piece or in passing: one notification, one event, nothing remembered.

The deltas are the hot path of a turn: thousands of them, each decoded once and sent on.
"""

from __future__ import annotations

from base64 import b64encode

from codex_mcp.codex.events.spelling import error, snake
from codex_mcp.wire.app.notifications import (
    Delta,
    ErrorReported,
    PlanUpdated,
    ReasoningDelta,
    SummaryDelta,
    SummaryPartAdded,
    TerminalInput,
)


def message_delta(note: Delta) -> dict[str, object]:
    """agent_message_content_delta"""
    return _delta("agent_message_content_delta", note)


def plan_delta(note: Delta) -> dict[str, object]:
    """plan_delta"""
    return _delta("plan_delta", note)


def summary_delta(note: SummaryDelta) -> dict[str, object]:
    """reasoning_content_delta"""
    return {**_delta("reasoning_content_delta", note), "summary_index": note.summary_index}


def reasoning_delta(note: ReasoningDelta) -> dict[str, object]:
    """reasoning_raw_content_delta"""
    return {**_delta("reasoning_raw_content_delta", note), "content_index": note.content_index}


def _delta(kind: str, note: Delta) -> dict[str, object]:
    return {
        "type": kind,
        "thread_id": note.thread_id,
        "turn_id": note.turn_id,
        "item_id": note.item_id,
        "delta": note.delta,
    }


def section_break(note: SummaryPartAdded) -> dict[str, object]:
    """agent_reasoning_section_break"""
    return {"type": "agent_reasoning_section_break", "item_id": note.item_id, "summary_index": note.summary_index}


def output_delta(note: Delta) -> dict[str, object]:
    """exec_command_output_delta. The app-server sends text, and does not say which of the two streams it was."""
    chunk = b64encode(note.delta.encode("utf-8", "surrogatepass")).decode("ascii")
    return {"type": "exec_command_output_delta", "call_id": note.item_id, "stream": "stdout", "chunk": chunk}


def terminal_input(note: TerminalInput) -> dict[str, object]:
    """terminal_interaction"""
    return {
        "type": "terminal_interaction",
        "call_id": note.item_id,
        "process_id": note.process_id,
        "stdin": note.stdin,
    }


def plan_update(note: PlanUpdated) -> dict[str, object]:
    """plan_update"""
    plan = [{"step": each.step, "status": snake(each.status)} for each in note.plan]
    return {"type": "plan_update", "explanation": note.explanation, "plan": plan}


def error_event(note: ErrorReported) -> dict[str, object]:
    """error, or stream_error if the model is asked again"""
    if note.will_retry:
        details = {"additional_details": note.error.additional_details}
        return {"type": "stream_error", **error(note.error), **details}
    return {"type": "error", **error(note.error)}
