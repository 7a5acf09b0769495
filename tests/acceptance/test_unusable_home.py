"""Codex's folder cannot be used: each call is answered with the sentence that says what to do."""

from pathlib import Path

import pytest

from tests.support.servers.mcp_server import McpServer, Setup

REPLY = {"prompt": "hi", "threadId": "019a0000-0000-7000-8000-000000000000"}


@pytest.mark.parametrize("command", ["mcp-server", "serve"])
async def test_each_call_says_what_to_do_about_the_folder(tmp_path: Path, command: str) -> None:
    folder = tmp_path / "user" / ".codex"
    folder.parent.mkdir()
    folder.write_text("")
    environment = {"HOME": str(folder.parent), "CODEX_HOME": ""}
    async with McpServer(Setup(tmp_path, environment=environment, command=command)) as server:
        await server.initialize()
        calls = [("codex", {"prompt": "hi"}), ("codex", {"prompt": "again"})]
        for name, arguments in calls if command == "serve" else [*calls, ("codex-reply", REPLY)]:
            result = await server.run(name, arguments)
            assert result["isError"]
            assert result["content"][0]["text"] == (
                f"cannot use Codex's folder {folder}: it is not a folder; move it away, or choose another one with "
                "--codex-home or CODEX_HOME"
            )
