"""A scripted model behind OpenAI's Chat Completions API and behind Google's Gemini API, for real clients on loopback.

The plan is that of `anthropic_model`: it sees only the results that its client shows it. A plan names our tools as we
do; the model finds the name that its client gave the tool among the tools that it is offered.
"""

import itertools
import re
from collections.abc import Iterator
from contextlib import suppress
from typing import Self

import msgspec

from codex_mcp.scripted_model.connection import HOST, Connection, Listening
from codex_mcp.scripted_model.http import HttpRequest
from tests.support.clients.anthropic_model import Json, Plan, Say, Step, Together, Use, Used


class ChatModel:
    """`async with ChatModel(plan) as model:` and give `model.base_url` to the client."""

    def __init__(self, plan: Plan) -> None:
        self.requests: list[Json] = []
        """Every request for an answer that offers tools, in order."""
        self._plan = plan
        self._numbers = itertools.count(1)
        self._listening = Listening(self._answer)

    async def __aenter__(self) -> Self:
        await self._listening.open()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._listening.aclose()

    @property
    def base_url(self) -> str:
        return f"http://{HOST}:{self._listening.port}"

    @property
    def offered(self) -> list[str]:
        """The names of the tools that the client offers."""
        return _offered(self.requests[-1])

    @property
    def used(self) -> list[Used]:
        """The results of the tools, as the newest request tells them."""
        return _results(self.requests[-1])

    async def _answer(self, request: HttpRequest, connection: Connection) -> None:
        with suppress(ConnectionError):
            path = request.path.partition("?")[0]
            if request.method == "POST" and path.endswith("/chat/completions"):
                await self._chat(msgspec.json.decode(request.body, type=Json), connection)
            elif request.method == "POST" and path.endswith((":generateContent", ":streamGenerateContent")):
                await self._gemini(path, msgspec.json.decode(request.body, type=Json), connection)
            elif path.endswith(":countTokens"):
                await connection.answer(200, b'{"totalTokens": 100}')
            elif path.endswith("/models"):
                await connection.answer(200, b'{"object": "list", "data": [{"id": "scripted", "object": "model"}]}')
            else:
                await connection.answer(404, b'{"error": {"message": "there is nothing here", "code": 404}}')

    async def _next(self, body: Json) -> list[Use] | str:
        """What the model does: tools to call, by the client's names, or its last words."""
        if not _offered(body):  # a side job, such as a title for the conversation
            return "ok"
        self.requests.append(body)
        step: Step = await self._plan(_results(body))
        match step:
            case Say(text):
                return text
            case Use():
                uses = [step]
            case Together(several):
                uses = list(several)
        return [_as_offered(use, _offered(body)) for use in uses]

    async def _chat(self, body: Json, connection: Connection) -> None:
        done = await self._next(body)
        message: Json = {"role": "assistant", "content": done if isinstance(done, str) else None}
        if not isinstance(done, str):
            message["tool_calls"] = [
                {
                    "id": f"call_{next(self._numbers)}",
                    "type": "function",
                    "function": {"name": use.tool, "arguments": msgspec.json.encode(use.arguments).decode()},
                }
                for use in done
            ]
        why = "stop" if isinstance(done, str) else "tool_calls"
        usage = {"prompt_tokens": 100, "completion_tokens": 20, "total_tokens": 120}
        common: Json = {"id": "chat", "created": 1, "model": body.get("model", "scripted"), "usage": usage}
        if not body.get("stream"):
            choice = {"index": 0, "message": message, "finish_reason": why}
            await connection.answer(
                200, msgspec.json.encode({**common, "object": "chat.completion", "choices": [choice]})
            )
            return
        await connection.begin_stream()
        for choice in _deltas(message, why):
            chunk = {**common, "object": "chat.completion.chunk", "choices": [choice]}
            await connection.send(b"data: %b\n\n" % msgspec.json.encode(chunk))
        await connection.send(b"data: [DONE]\n\n")
        await connection.end_stream()

    async def _gemini(self, path: str, body: Json, connection: Connection) -> None:
        done = await self._next(body)
        parts: list[Json] = (
            [{"text": done}]
            if isinstance(done, str)
            else [{"functionCall": {"name": use.tool, "args": use.arguments}} for use in done]
        )
        answer = {
            "candidates": [{"content": {"role": "model", "parts": parts}, "finishReason": "STOP", "index": 0}],
            "usageMetadata": {"promptTokenCount": 100, "candidatesTokenCount": 20, "totalTokenCount": 120},
            "modelVersion": "scripted",
        }
        if path.endswith(":generateContent"):
            await connection.answer(200, msgspec.json.encode(answer))
            return
        await connection.begin_stream()
        await connection.send(b"data: %b\n\n" % msgspec.json.encode(answer))
        await connection.end_stream()


def _deltas(message: Json, why: str) -> Iterator[Json]:
    delta = dict(message)
    if "tool_calls" in delta:
        delta["tool_calls"] = [{"index": index, **each} for index, each in enumerate(message["tool_calls"])]
    yield {"index": 0, "delta": delta, "finish_reason": None}
    yield {"index": 0, "delta": {}, "finish_reason": why}


def _offered(body: Json) -> list[str]:
    names = []
    for tool in body.get("tools") or []:
        names += [each["name"] for each in tool.get("functionDeclarations", [])]
        names += [tool["function"]["name"]] if "function" in tool else []
    return names


def _as_offered(use: Use, offered: list[str]) -> Use:
    """Clients put the server's name before a tool's, and some replace characters. Qwen Code offers one tool that calls
    those of servers."""
    if "tool_call" in offered:
        return Use("tool_call", {"name": f"mcp__codex__{use.tool}", "arguments": use.arguments})

    def plain(name: str) -> str:
        return re.sub(r"[^a-z0-9]+", "_", name.lower())

    tool = plain(use.tool)
    found = [name for name in offered if plain(name) == tool or plain(name).endswith(f"_{tool}")]
    assert found, f"the client offers no tool {use.tool}: {offered}"
    return Use(min(found, key=len), use.arguments)


def _results(body: Json) -> list[Used]:
    chat = [_text(message["content"]) for message in body.get("messages", []) if message["role"] == "tool"]
    gemini = [
        msgspec.json.encode(part["functionResponse"]["response"]).decode()
        for content in body.get("contents", [])
        for part in content.get("parts", [])
        if "functionResponse" in part
    ]
    return [Used(text, is_error=False) for text in (*chat, *gemini)]


def _text(content: str | list[Json]) -> str:
    return content if isinstance(content, str) else "\n".join(part.get("text", "") for part in content)
