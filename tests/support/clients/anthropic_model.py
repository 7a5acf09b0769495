"""A scripted model behind the Anthropic Messages API, on loopback, for the real Claude Code.

A plan is a function from the results of the tools called so far to what the model does next; it may wait before it
answers. Nothing else is remembered: Claude Code sends the whole conversation every time, and may send it twice.
"""

from collections.abc import Awaitable, Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Self

import msgspec

from codex_mcp.scripted_model.connection import HOST, Connection, Listening
from codex_mcp.scripted_model.http import HttpRequest

Json = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Say:
    """The model's last words."""

    text: str


@dataclass(frozen=True, slots=True)
class Use:
    """The model calls a tool."""

    tool: str
    arguments: Json


@dataclass(frozen=True, slots=True)
class Together:
    """The model calls several tools in one message."""

    uses: Sequence[Use]


@dataclass(frozen=True, slots=True)
class Used:
    """What the client told the model about a call."""

    text: str
    is_error: bool

    @property
    def json(self) -> Json:
        """The text, which must be JSON."""
        return msgspec.json.decode(self.text, type=Json)


Step = Say | Use | Together

Plan = Callable[[list[Used]], Awaitable[Step]]


class AnthropicModel:
    """`async with AnthropicModel(plan) as model:` and give `model.base_url` to the client."""

    def __init__(self, plan: Plan) -> None:
        self.requests: list[Json] = []
        """Every request for an answer, in order."""
        self._plan = plan
        self._listening = Listening(self._answer)

    async def __aenter__(self) -> Self:
        await self._listening.open()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._listening.aclose()

    @property
    def base_url(self) -> str:
        """For ANTHROPIC_BASE_URL."""
        return f"http://{HOST}:{self._listening.port}"

    @property
    def used(self) -> list[Used]:
        """The results of the tools, as the newest request tells them."""
        return tool_results(self.requests[-1])

    async def _answer(self, request: HttpRequest, connection: Connection) -> None:
        with suppress(ConnectionError):
            match request.method, request.path:
                case "POST", "/v1/messages":
                    await self._play(msgspec.json.decode(request.body, type=Json), connection)
                case "POST", "/v1/messages/count_tokens":
                    await connection.answer(200, b'{"input_tokens": 1000}')
                case _:
                    await connection.answer(404, b'{"type": "error", "error": {"type": "not_found_error"}}')

    async def _play(self, body: Json, connection: Connection) -> None:
        self.requests.append(body)
        # Beside the conversation there are side jobs, such as a title for it; those bring no tools.
        step = await self._plan(tool_results(body)) if body.get("tools") else Say("ok")
        message = _message(step, str(body.get("model", "")), len(self.requests))
        if not body.get("stream"):
            await connection.answer(200, msgspec.json.encode(message))
            return
        await connection.begin_stream()
        for event in _stream(message):
            await connection.send(b"event: %b\ndata: %b\n\n" % (event["type"].encode(), msgspec.json.encode(event)))
        await connection.end_stream()


def tool_results(request: Json) -> list[Used]:
    """What the conversation of this request holds of tool results, in order."""
    blocks = (
        block for message in request["messages"] if isinstance(message["content"], list) for block in message["content"]
    )
    return [
        Used(_text(block.get("content", "")), bool(block.get("is_error")))
        for block in blocks
        if block["type"] == "tool_result"
    ]


def _text(content: str | list[Json]) -> str:
    return content if isinstance(content, str) else "\n".join(block.get("text", "") for block in content)


def _message(step: Step, model: str, number: int) -> Json:
    blocks: list[Json]
    match step:
        case Say(text):
            blocks = [{"type": "text", "text": text}]
        case Use():
            blocks = [_use(step, number, 0)]
        case Together(uses):
            blocks = [_use(use, number, index) for index, use in enumerate(uses)]
    return {
        "id": f"msg_{number:04}",
        "type": "message",
        "role": "assistant",
        "model": model,
        "content": blocks,
        "stop_reason": "end_turn" if isinstance(step, Say) else "tool_use",
        "stop_sequence": None,
        "usage": {"input_tokens": 100, "output_tokens": 20},
    }


def _use(use: Use, number: int, index: int) -> Json:
    return {"type": "tool_use", "id": f"toolu_{number:04}_{index}", "name": use.tool, "input": use.arguments}


def _stream(message: Json) -> Iterator[Json]:
    """A whole message as the events of its stream."""
    yield {"type": "message_start", "message": {**message, "content": [], "stop_reason": None}}
    for index, block in enumerate(message["content"]):
        yield from _stream_of_block(block, index)
    stop = {"stop_reason": message["stop_reason"], "stop_sequence": None}
    yield {"type": "message_delta", "delta": stop, "usage": {"output_tokens": 20}}
    yield {"type": "message_stop"}


def _stream_of_block(block: Json, index: int) -> Iterator[Json]:
    if block["type"] == "text":
        empty, delta = {**block, "text": ""}, {"type": "text_delta", "text": block["text"]}
    else:
        arguments = msgspec.json.encode(block["input"]).decode()
        empty, delta = {**block, "input": {}}, {"type": "input_json_delta", "partial_json": arguments}
    yield {"type": "content_block_start", "index": index, "content_block": empty}
    yield {"type": "content_block_delta", "index": index, "delta": delta}
    yield {"type": "content_block_stop", "index": index}
