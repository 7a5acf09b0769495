"""What the product answers to, and says that it can do."""

from __future__ import annotations

import math
from collections.abc import Awaitable, Callable
from typing import Final, TypeAlias

from msgspec import Struct

from codex_mcp.base.settings.groups import Settings
from codex_mcp.base.settings.kinds import Protocol
from codex_mcp.mcp.methods import EXTENSIONS, PRODUCT, Around, Methods
from codex_mcp.mcp.session import ToolBox
from codex_mcp.mcp.tools.codex_tools import CodexTools
from codex_mcp.mcp.tools.tasks import Tasks
from codex_mcp.threads.threads import Threads
from codex_mcp.wire import mcp

CAPABILITIES: Final[dict[str, object]] = {"tools": {}, EXTENSIONS: {mcp.TASKS_EXTENSION: {}}}


async def _nothing() -> None:
    pass


class Product(Struct, frozen=True):
    """What a server serves."""

    methods: Methods
    tools: ToolBox
    aclose: Callable[[], Awaitable[None]] = _nothing
    """What is to be done at the end, while the core still runs. Who is in a hurry cancels it."""
    longest_grace: float = math.inf
    """Seconds that running turns may go on at the end; less if the settings say so."""


MakeProduct: TypeAlias = Callable[[Threads, Settings, bytes], Product]
"""The last one seals what clients carry for us."""


def plain_product(threads: Threads, settings: Settings, key: bytes, around: Around | None = None) -> Product:
    """Threads without names."""
    tools = CodexTools(threads, settings, key)
    table = {**PRODUCT, **Tasks(threads, settings.calls, key, tools.says).table()}
    methods = Methods(table, CAPABILITIES, stateless=settings.calls.protocol is not Protocol.LEGACY, around=around)
    return Product(methods, tools.tools())
