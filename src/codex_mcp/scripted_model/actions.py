"""Pure. A response as a sequence of actions: bytes to send, and pauses between them.

The bytes are server-sent events of the Responses API, reduced to what Codex reads. Texts without an interval are
joined into large writes, because benchmarks measure everything behind them.
"""

from collections.abc import Iterable, Iterator, Mapping
from itertools import pairwise, repeat

import msgspec
from msgspec import Struct

from codex_mcp.scripted_model.calls import tool_calls
from codex_mcp.scripted_model.playing import Beat, Response
from codex_mcp.scripted_model.request import ModelRequest
from codex_mcp.scripted_model.steps import (
    ENDLESS_INTERVAL,
    Call,
    Disconnect,
    Error,
    Fail,
    Gate,
    Patch,
    Plan,
    Run,
    Say,
    Search,
    Stream,
    Think,
    Wait,
)

DELTAS_AT_ONCE = 256
"""Deltas that are joined when there is no interval: few enough to cause no delay."""

LARGE_WRITE = 64 * 1024
"""Bytes that are joined into one write: what a socket usually takes without waiting."""


class Send(Struct, frozen=True):
    data: bytes


class Pause(Struct, frozen=True):
    seconds: float


class Hold(Struct, frozen=True):
    """Wait at a gate, or until a file exists."""

    gate: str
    file: str | None


class HoldForever(Struct, frozen=True):
    """Wait until the client hangs up."""


class Refuse(Struct, frozen=True):
    """Answer with an HTTP error instead of a stream."""

    status: int
    headers: Mapping[str, str]
    body: bytes


class Abort(Struct, frozen=True):
    """Break the connection."""


Action = Send | Pause | Hold | HoldForever | Refuse | Abort


def actions(response: Response, request: ModelRequest, name: str) -> Iterator[Action]:
    """The actions of one response. `name` makes its ids unique."""
    if not any(isinstance(beat.step, Fail) for beat in response.beats):
        yield Send(event("response.created", {"response": {"id": f"resp_{name}"}}))
    for beat in response.beats:
        yield from _beat(beat, request, name)
        if isinstance(beat.step, Fail | Error | Disconnect):
            return
    yield Send(event("response.completed", {"response": {"id": f"resp_{name}", "usage": _usage(response.usage)}}))


def in_large_writes(todo: Iterable[Action]) -> Iterator[Action]:
    """Join what is sent without a pause in between: every write wakes the client."""
    waiting: list[bytes] = []
    size = 0
    for action in todo:
        if isinstance(action, Send):
            waiting.append(action.data)
            size += len(action.data)
            if size < LARGE_WRITE:
                continue
        if size:
            yield Send(b"".join(waiting))
            waiting, size = [], 0
        if not isinstance(action, Send):
            yield action
    if size:
        yield Send(b"".join(waiting))


def event(kind: str, fields: Mapping[str, object]) -> bytes:
    return b"event: %b\ndata: %b\n\n" % (kind.encode(), msgspec.json.encode({"type": kind, **fields}))


def pieces(text: str, number: int) -> list[str]:
    if not text:
        return []
    number = min(number, len(text))
    cuts = [len(text) * i // number for i in range(number + 1)]
    return [text[start:end] for start, end in pairwise(cuts)]


def error_body(status: int, message: str, code: str | None) -> bytes:
    """An error in the format of the Responses API."""
    kind = "invalid_request_error" if status < 500 else "server_error"
    return msgspec.json.encode({"error": {"message": message, "type": code or kind, "param": None, "code": code}})


def _beat(beat: Beat, request: ModelRequest, name: str) -> Iterator[Action]:
    match beat.step:
        case (Say() | Stream() | Think() | Search()) as said:
            yield from _output(beat.index, said, name)
        case Run() | Patch() | Plan() | Call():
            items = tool_calls(beat, request.tools, name)
            yield Send(b"".join(event("response.output_item.done", {"item": item}) for item in items))
        case Wait() as wait:
            yield HoldForever() if wait.wait == "disconnect" else Pause(wait.wait)
        case Gate() as gate:
            yield Hold(gate.gate, gate.file)
        case Fail() as fail:
            body = error_body(fail.fail, fail.message, fail.code) if fail.body is None else fail.body.encode()
            yield Refuse(fail.fail, fail.headers, body)
        case Error() as error:
            failure = {"id": f"resp_{name}", "error": {"code": error.error, "message": error.message}}
            yield Send(event("response.failed", {"response": failure}))
        case Disconnect() as half:
            yield from _begun_message(
                beat.index, _message_item(beat.index, name, None), pieces(half.disconnect, 1), 0.0
            )
            yield Abort()
        case other:
            raise AssertionError(f"no action for {other!r}")


def _output(index: int, step: Say | Stream | Think | Search, name: str) -> Iterator[Action]:
    match step:
        case Say() as say:
            item = _message_item(index, name, say.phase)
            yield from _message(index, item, pieces(say.say, say.deltas), say.interval)
        case Stream() as stream:
            yield from _stream(index, name, stream)
        case Think() as think:
            yield from _think(index, name, think)
        case search:
            yield from _search(index, name, search)


def _stream(index: int, name: str, stream: Stream) -> Iterator[Action]:
    texts = repeat(stream.stream) if stream.endless else [stream.stream] * stream.count
    interval = stream.interval
    if interval is None:
        interval = ENDLESS_INTERVAL if stream.endless else 0.0
    yield from _message(index, _message_item(index, name, None), texts, interval)


def _message_item(index: int, name: str, phase: str | None) -> dict[str, object]:
    item: dict[str, object] = {"type": "message", "id": f"msg_{name}_{index}", "role": "assistant"}
    return item if phase is None else {**item, "phase": phase}


def _begun_message(index: int, item: Mapping[str, object], texts: Iterable[str], interval: float) -> Iterator[Action]:
    yield Send(event("response.output_item.added", {"output_index": index, "item": {**item, "content": []}}))
    place = {"item_id": item["id"], "output_index": index, "content_index": 0}
    yield from _deltas("response.output_text.delta", place, texts, interval)


def _message(index: int, item: Mapping[str, object], texts: Iterable[str], interval: float) -> Iterator[Action]:
    yield from _begun_message(index, item, texts, interval)
    content = [{"type": "output_text", "text": "".join(texts), "annotations": []}]
    yield Send(event("response.output_item.done", {"output_index": index, "item": {**item, "content": content}}))


def _think(index: int, name: str, think: Think) -> Iterator[Action]:
    item: dict[str, object] = {"type": "reasoning", "id": f"rs_{name}_{index}"}
    yield Send(event("response.output_item.added", {"output_index": index, "item": {**item, "summary": []}}))
    sections = [think.think] if isinstance(think.think, str) else think.think
    for number, section in enumerate(sections):
        place = {"item_id": item["id"], "output_index": index, "summary_index": number}
        yield Send(event("response.reasoning_summary_part.added", place))
        texts = pieces(section, think.deltas)
        yield from _deltas("response.reasoning_summary_text.delta", place, texts, think.interval)
    summary = [{"type": "summary_text", "text": section} for section in sections]
    done = {**item, "summary": summary, "encrypted_content": None}
    yield Send(event("response.output_item.done", {"output_index": index, "item": done}))


def _search(index: int, name: str, search: Search) -> Iterator[Action]:
    item: dict[str, object] = {"type": "web_search_call", "id": f"ws_{name}_{index}"}
    yield Send(event("response.output_item.added", {"output_index": index, "item": {**item, "status": "in_progress"}}))
    done = {**item, "status": "completed", "action": {"type": "search", "query": search.search}}
    yield Send(event("response.output_item.done", {"output_index": index, "item": done}))


def _deltas(kind: str, place: Mapping[str, object], texts: Iterable[str], interval: float) -> Iterator[Action]:
    # Only the text of a delta changes; encoding nothing else makes 5,000 of them cheap.
    frame = event(kind, {**place, "delta": 0})
    before, after = frame[: -len(b"0}\n\n")], b"}\n\n"
    waiting: list[bytes] = []
    for text in texts:
        waiting.append(before + msgspec.json.encode(text) + after)
        if interval or len(waiting) >= DELTAS_AT_ONCE:
            yield Send(b"".join(waiting))
            waiting.clear()
        if interval:
            yield Pause(interval)
    yield Send(b"".join(waiting))


def _usage(tokens: Mapping[str, int]) -> dict[str, object]:
    return {
        "input_tokens": tokens["input"],
        "input_tokens_details": {"cached_tokens": tokens["cached"]},
        "output_tokens": tokens["output"],
        "output_tokens_details": {"reasoning_tokens": tokens["reasoning"]},
        "total_tokens": tokens["input"] + tokens["output"],
    }
