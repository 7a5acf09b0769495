"""The real Claude Code shows why a server does not start, and nothing of the kind once that is put right."""

from pathlib import Path

import msgspec

from tests.support.clients.claude_code import NOT_OUTSIDE
from tests.support.clients.judges import judge, run
from tests.support.servers.mcp_server import Setup

NO_MODEL = {"ANTHROPIC_BASE_URL": "http://127.0.0.1:9"}
"""Otherwise it first waits for its maker's server."""


async def shown(setup: Setup, *flags: str) -> str:
    """What `claude mcp get` says about our server."""
    command, *words = setup.argv()
    server = {"command": command, "args": [*words, *flags], "env": setup.env()}
    (setup.home / ".claude.json").write_bytes(msgspec.json.encode({"mcpServers": {"codex": server}}))
    ended = await run([judge("claude"), "mcp", "get", "codex"], setup, NOT_OUTSIDE | NO_MODEL)
    assert ended.code == 0, ended.stderr
    return ended.stdout


async def test_it_shows_why_a_server_does_not_start(tmp_path: Path) -> None:
    setup = Setup(tmp_path)
    setup.make()
    refused = await shown(setup, "--shutdown-grace", "soon")
    assert "Failed to connect" in refused
    # It masks all words of the command line that it finds in the reason.
    assert "cannot use shutdown_grace = " in refused
    assert "it must be a number of seconds from 0.01 to 86400" in refused
    assert "Connected" in await shown(setup, "--shutdown-grace", "1")
