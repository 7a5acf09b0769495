"""Pure. The events of prompts, answers, reasoning, plans and errors.

Deltas are the hot path of a turn: there are thousands of them, each decoded once and passed on.
"""

from __future__ import annotations

from base64 import b64encode

from codex_mcp.threads.events.spelling import error, present, snake, snake_keys
from codex_mcp.wire.app.items import AgentMessage, Input, Reasoning, UserMessage
from codex_mcp.wire.app.notifications import (
    Delta,
    ErrorReported,
    PlanUpdated,
    ReasoningDelta,
    SummaryDelta,
    SummaryPartAdded,
    TerminalInput,
)


def user_message(item: UserMessage) -> dict[str, object]:
    """The texts are joined; images and audio are URLs or paths."""
    return {
        "type": "user_message",
        "message": "".join(part.text for part in item.content if part.type == "text"),
        "images": _addresses(item, "image"),
        "local_images": _paths(item, "localImage"),
        "audio": _addresses(item, "audio"),
        "local_audio": _paths(item, "localAudio"),
        "text_elements": _text_elements(item),
    }


def _addresses(item: UserMessage, kind: str) -> list[str]:
    return [part.url for part in item.content if part.type == kind and part.url is not None]


def _paths(item: UserMessage, kind: str) -> list[str]:
    return [part.path for part in item.content if part.type == kind and part.path is not None]


def _text_elements(item: UserMessage) -> list[object]:
    """Marked spans, counted in bytes from the start of the joined text."""
    elements: list[object] = []
    offset = 0
    for part in item.content:
        if part.type == "text":
            elements += [_moved(snake_keys(element), offset) for element in part.text_elements]
            offset += len(part.text.encode("utf-8", "surrogatepass"))
    return elements


def _moved(element: object, offset: int) -> object:
    match element:
        case {"byte_range": {"start": int(start), "end": int(end)}, **rest}:
            return {"byte_range": {"start": start + offset, "end": end + offset}, **rest}
        case _:
            return element


def input_part(part: Input) -> dict[str, object]:
    if part.type == "text":
        return {"type": "text", "text": part.text, "text_elements": snake_keys(part.text_elements)}
    return {"type": snake(part.type), **present(image_url=part.url, path=part.path)}


def agent_message(item: AgentMessage) -> dict[str, object]:
    return {
        "type": "agent_message",
        "message": item.text,
        "phase": item.phase,
        "memory_citation": snake_keys(item.memory_citation),
    }


def agent_reasoning(item: Reasoning) -> list[dict[str, object]]:
    summaries: list[dict[str, object]] = [{"type": "agent_reasoning", "text": text} for text in item.summary]
    return summaries + [{"type": "agent_reasoning_raw_content", "text": text} for text in item.content]


def summary_delta(note: SummaryDelta) -> dict[str, object]:
    return {**delta("reasoning_content_delta", note), "summary_index": note.summary_index}


def reasoning_delta(note: ReasoningDelta) -> dict[str, object]:
    return {**delta("reasoning_raw_content_delta", note), "content_index": note.content_index}


def delta(kind: str, note: Delta) -> dict[str, object]:
    return {
        "type": kind,
        "thread_id": note.thread_id,
        "turn_id": note.turn_id,
        "item_id": note.item_id,
        "delta": note.delta,
    }


def section_break(note: SummaryPartAdded) -> dict[str, object]:
    return {"type": "agent_reasoning_section_break", "item_id": note.item_id, "summary_index": note.summary_index}


def output_delta(note: Delta) -> dict[str, object]:
    """The app-server sends text, without saying whether it was stdout or stderr."""
    chunk = b64encode(note.delta.encode("utf-8", "surrogatepass")).decode("ascii")
    return {"type": "exec_command_output_delta", "call_id": note.item_id, "stream": "stdout", "chunk": chunk}


def terminal_input(note: TerminalInput) -> dict[str, object]:
    return {
        "type": "terminal_interaction",
        "call_id": note.item_id,
        "process_id": note.process_id,
        "stdin": note.stdin,
    }


def plan_update(note: PlanUpdated) -> dict[str, object]:
    plan = [{"step": each.step, "status": snake(each.status)} for each in note.plan]
    return {"type": "plan_update", "explanation": note.explanation, "plan": plan}


def error_event(note: ErrorReported) -> dict[str, object]:
    """A stream_error if Codex asks the model again, otherwise an error."""
    if note.will_retry:
        details = {"additional_details": note.error.additional_details}
        return {"type": "stream_error", **error(note.error), **details}
    return {"type": "error", **error(note.error)}
