"""Calls of tools that threads were started with (`ThreadSpec.tools`). One host answers them all; without one, each is
refused as a question that is not known."""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from typing import Any, TypeAlias

from codex_mcp.wire.app.questions import Asked, ToolCallRequest

ToolHost: TypeAlias = Callable[[str, ToolCallRequest], Coroutine[Any, Any, object]]
"""Answers a call in the thread of this id, which for a subagent is that of its ancestor. It must not raise."""


class ToolCalls:
    def __init__(self) -> None:
        self._host: ToolHost | None = None

    def answer_with(self, host: ToolHost) -> None:
        self._host = host

    def answer(self, thread_id: str, asked: Asked) -> Coroutine[Any, Any, object] | None:
        """The answer to a call; None if it is no call, or there is no host."""
        if self._host is None or not isinstance(asked, ToolCallRequest):
            return None
        return self._host(thread_id, asked)


def tool_answer(text: str, *, is_error: bool = False) -> dict[str, object]:
    """What the app-server gives the model as the output of a call."""
    return {"contentItems": [{"type": "inputText", "text": text}], "success": not is_error}
