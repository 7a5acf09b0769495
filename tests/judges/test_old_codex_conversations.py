"""The conversation methods with a Codex that has no app-server for them (0.153.4, from npm)."""

from pathlib import Path

import pytest

from tests.support.clients.judges import package
from tests.support.servers.conversations import ask, refusal
from tests.support.servers.mcp_server import scripted_server

TOO_OLD = {
    "newConversation": {},
    "listConversations": {},
    "getAuthStatus": {},
    "setDefaultModel": {"model": "another"},
    "execOneOffCommand": {"command": ["true"]},
    "fuzzyFileSearch": {"query": "x", "roots": []},
}


@pytest.mark.timeout(120)
async def test_what_an_old_codex_cannot_do_is_refused_by_its_version(tmp_path: Path) -> None:
    old_codex = str(package("codex-old") / "bin/codex.js")
    async with scripted_server(tmp_path, "--codex-bin", old_codex) as (server, _model):
        for method, params in TOO_OLD.items():
            code, text = await refusal(server, method, **params)  # type: ignore[arg-type]  # any fields of a request
            assert code == -32603
            assert "Codex 0.153.4" in text
            assert text.endswith("0.163 or newer")
        assert await ask(server, "getUserSavedConfig") == {"config": {"profiles": {}}}
