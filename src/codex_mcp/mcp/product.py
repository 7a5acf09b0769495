"""What the product answers to, and says that it can do."""

from __future__ import annotations

from typing import Final

from codex_mcp.base.settings import Protocol, Settings
from codex_mcp.mcp.methods import EXTENSIONS, PRODUCT, Around, Methods
from codex_mcp.mcp.tasks import Tasks
from codex_mcp.threads.book import Book
from codex_mcp.wire import mcp

CAPABILITIES: Final[dict[str, object]] = {"tools": {}, EXTENSIONS: {mcp.TASKS_EXTENSION: {}}}


def product_methods(book: Book, settings: Settings, key: bytes, around: Around | None = None) -> Methods:
    """The methods, with the threads that they are about. `key` seals what clients carry for us."""
    table = {**PRODUCT, **Tasks(book, settings, key).table()}
    return Methods(table, CAPABILITIES, stateless=settings.protocol is not Protocol.LEGACY, around=around)
