"""Calls of tools that threads were started with (`ThreadSpec.tools`). One host answers them all; without one, each is
refused as a question that is not known.

A core that outlives its server repeats to the next one what was not answered. With kept answers, a call is carried out
once: the answer is kept before the core gets it. What a call does before that must be done once for each `call_id`.
"""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from typing import Any, Protocol, TypeAlias

from codex_mcp.wire.app.questions import Asked, ToolCallRequest

ToolHost: TypeAlias = Callable[[str, ToolCallRequest], Coroutine[Any, Any, object]]
"""Answers a call in the thread of this id, which for a subagent is that of its ancestor. It must not raise."""


class KeptAnswers(Protocol):
    async def answer(self, thread_id: str, call_id: str) -> object | None:
        """What this call was answered before; None if it was not."""

    async def keep(self, thread_id: str, call_id: str, answer: object) -> None:
        """Keep the answer to this call."""


class ToolCalls:
    def __init__(self) -> None:
        self._host: ToolHost | None = None
        self._kept: KeptAnswers | None = None

    def answer_with(self, host: ToolHost) -> None:
        self._host = host

    def answer_once(self, kept: KeptAnswers) -> None:
        """Carry each call out once, also if another server has begun to answer it."""
        self._kept = kept

    def answer(self, thread_id: str, asked: Asked) -> Coroutine[Any, Any, object] | None:
        """The answer to a call; None if it is no call, or there is no host."""
        if self._host is None or not isinstance(asked, ToolCallRequest):
            return None
        if self._kept is None:
            return self._host(thread_id, asked)
        return _once(self._kept, self._host, thread_id, asked)


async def _once(kept: KeptAnswers, host: ToolHost, thread_id: str, asked: ToolCallRequest) -> object:
    answered = await kept.answer(thread_id, asked.call_id)
    if answered is None:
        answered = await host(thread_id, asked)
        await kept.keep(thread_id, asked.call_id, answered)
    return answered


def tool_answer(text: str, *, is_error: bool = False) -> dict[str, object]:
    """What the app-server gives the model as the output of a call."""
    return {"contentItems": [{"type": "inputText", "text": text}], "success": not is_error}
