"""What `/metrics` shows of sessions and threads."""

import asyncio
from pathlib import Path

from codex_mcp.base.settings import Settings
from codex_mcp.mcp.hub import Hub
from codex_mcp.mcp.methods import PRODUCT, Methods
from codex_mcp.mcp.metrics import Metrics
from codex_mcp.mcp.seal import KEY_BYTES
from codex_mcp.mcp.tools import Tools
from codex_mcp.threads.book import Book
from codex_mcp.threads.owners import LOCAL
from tests.support.mcp_session import no_codex, no_hurry


async def test_what_can_be_seen_is_shown_with_its_number(tmp_path: Path) -> None:
    settings = Settings(codex_home=str(tmp_path))
    book = Book(settings, no_codex, no_hurry)
    hub = Hub(Methods(PRODUCT), Tools(book, settings, bytes(KEY_BYTES)), settings, bytes(KEY_BYTES))
    metrics = Metrics(hub, book)
    session = hub.make(LOCAL, "one")
    session.channel.subscribe()
    hub.make(LOCAL, "two")
    book.counts.turns["completed"] += 3
    book.counts.decisions["denied"] += 1
    metrics.requests.labels("/mcp", "200").inc()
    await asyncio.sleep(0)

    page = metrics.text().decode().splitlines()

    assert {
        "codex_mcp_sessions 2.0",
        "codex_mcp_bus_subscribers 1.0",
        "codex_mcp_threads 0.0",
        "codex_mcp_core_starts_total 0.0",
        'codex_mcp_turns_total{status="completed"} 3.0',
        'codex_mcp_approvals_total{decision="denied"} 1.0',
        'codex_mcp_http_requests_total{door="/mcp",status="200"} 1.0',
    } <= set(page)
    await hub.aclose()
    await book.aclose()
