"""Forms that do not arrive."""

import asyncio
from collections.abc import MutableMapping
from pathlib import Path
from typing import Any

import pytest

from codex_mcp.access.gate import Gate
from codex_mcp.dashboard import site
from codex_mcp.dashboard.place import Place
from codex_mcp.dashboard.site import Site
from codex_mcp.transports.http import HttpExchange
from tests.support.patience import PATIENCE


@pytest.mark.parametrize("parts", [0, 1])
async def test_a_form_that_never_ends_is_given_up(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, parts: int) -> None:
    monkeypatch.setattr(site, "INPUT_SECONDS", 0.0)
    left: list[MutableMapping[str, Any]] = [{"type": "http.request", "body": b"code=", "more_body": True}] * parts
    sent: list[MutableMapping[str, Any]] = []
    never = asyncio.get_running_loop().create_future()

    async def receive() -> MutableMapping[str, Any]:
        return left.pop() if left else await never

    async def send(message: MutableMapping[str, Any]) -> None:
        sent.append(message)

    headers = [(b"host", b"localhost"), (b"sec-fetch-site", b"same-origin")]
    scope = {"type": "http", "method": "POST", "path": "/ui/sign-in", "query_string": b"", "headers": headers}
    pages = Site(Place(str(tmp_path), str(tmp_path), Gate()))
    async with asyncio.timeout(PATIENCE):
        await pages.serve(HttpExchange(scope, receive, send))
    assert sent[0]["status"] == 408
    await pages.aclose()
