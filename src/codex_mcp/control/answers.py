"""Pure. What a tool of a server has answered."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from msgspec import Struct, field


class ToolAnswer(Struct, frozen=True):
    content: Sequence[Mapping[str, Any]] = ()
    data: Mapping[str, Any] = field(name="structuredContent", default_factory=dict)
    is_error: bool = field(name="isError", default=False)

    @property
    def texts(self) -> list[str]:
        return [str(part.get("text", "")) for part in self.content]
