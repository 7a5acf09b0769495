"""Pure. What was said and thought: prompts, answers and reasoning as old events."""

from __future__ import annotations

from codex_mcp.codex.events.spelling import present, snake, snake_keys
from codex_mcp.wire.app.items import AgentMessage, Input, Reasoning, UserMessage


def user_message(item: UserMessage) -> dict[str, object]:
    """user_message: the texts as one, pictures and sounds by address or path"""
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
    """One part of a prompt, as it stands in a UserMessage item."""
    if part.type == "text":
        return {"type": "text", "text": part.text, "text_elements": snake_keys(part.text_elements)}
    return {"type": snake(part.type), **present(image_url=part.url, path=part.path)}


def agent_message(item: AgentMessage) -> dict[str, object]:
    """agent_message"""
    return {
        "type": "agent_message",
        "message": item.text,
        "phase": item.phase,
        "memory_citation": snake_keys(item.memory_citation),
    }


def agent_reasoning(item: Reasoning) -> list[dict[str, object]]:
    """agent_reasoning for every summary, agent_reasoning_raw_content for every raw text"""
    summaries: list[dict[str, object]] = [{"type": "agent_reasoning", "text": text} for text in item.summary]
    return summaries + [{"type": "agent_reasoning_raw_content", "text": text} for text in item.content]
