"""Watches on a server that does not offer them, and what becomes of one whose connection breaks."""

from pathlib import Path

import pytest

from codex_mcp.execclient.errors import NotOffered
from tests.support.exec.exec_server import connected


async def test_a_server_that_does_not_offer_watches_is_not_asked(tmp_path: Path) -> None:
    async with connected(tmp_path) as setting:
        with pytest.raises(NotOffered, match="watch"):
            async with setting.client.files.watch_missing([f"{setting.folder}/later"]):
                pass
