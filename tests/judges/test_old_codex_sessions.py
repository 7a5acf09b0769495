"""Named sessions on the last Codex that had an mcp-server of its own (0.153.4, from npm)."""

from pathlib import Path

from tests.support.clients.judges import package
from tests.support.sessions.scene import error, said, session_server, sessions


def old_codex() -> tuple[str, str]:
    return "--codex-bin", str(package("codex-old") / "bin/codex.js")


async def test_a_session_works_and_after_a_restart_falls_back(tmp_path: Path) -> None:
    async with session_server(tmp_path, *old_codex()) as (server, _):
        first = await said(server, "one", sessionId="s")
        assert first["session"] == {"id": "s", "resumed": "new", "turns": 1, "model": ""}
        second = await said(server, "two", sessionId="s")
        assert (second["session"]["resumed"], second["threadId"]) == ("native", first["threadId"])
        (listed,) = await sessions(server)
        assert (listed["conversationId"], listed["turnCount"]) == (first["threadId"], 2)
    async with session_server(tmp_path, *old_codex()) as (server, _):
        third = await said(server, "three", sessionId="s")
        assert (third["session"]["resumed"], third["session"]["turns"]) == ("fallback", 3)
        assert third["content"].endswith("Task: three")


async def test_what_it_cannot_do_it_says(tmp_path: Path) -> None:
    async with session_server(tmp_path, *old_codex()) as (server, _):
        assert "knows no reviews" in await error(server, "review")
        await said(server, "one", sessionId="s")
        assert "knows no change of the model" in await error(server, "codex", prompt="two", sessionId="s", model="x")
        assert (await said(server, "three", sessionId="s"))["session"]["turns"] == 2
        assert (await server.run("websearch", {"query": "x"}))["structuredContent"]["status"] == "completed"
