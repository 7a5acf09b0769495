"""The team of a session of Claude Code, as a server sees it that Claude Code has started: variables, folder, socket."""

import asyncio
import contextlib
import json
from collections.abc import AsyncIterator, Callable
from pathlib import Path

from tests.support.mail.fixtures import config_bytes
from tests.support.patience import PATIENCE
from tests.support.servers.mcp_server import Json

SESSION_ID = "2507c187-2c70-4b79-8003-357864077bc4"

SESSION_TEAM = "session-2507c187"
"""The team of the fixture `captured-with-teammate`: team-lead and alice."""

TOKEN = "0123456789abcdef0123456789abcdef"

VARIABLES = {
    "CLAUDECODE": "1",
    "CLAUDE_CODE_SESSION_ID": SESSION_ID,
    "CLAUDE_CODE_MESSAGING_SOCKET": "/nowhere/claude.sock",
    "CLAUDE_CODE_MESSAGING_TOKEN": TOKEN,
    "CLAUDE_CODE_OAUTH_TOKEN": f"oauth-{TOKEN}",
    "CLAUDE_CODE_EXPERIMENTAL_AGENT_TEAMS": "1",
}


class SessionFolder:
    """The folder of the team."""

    def __init__(self, teams: Path) -> None:
        self.path = teams / SESSION_TEAM
        self.config = self.path / "config.json"

    def make(self) -> None:
        """Make it, as Claude Code would have with a teammate."""
        (self.path / "inboxes").mkdir(parents=True)
        self.config.write_bytes(config_bytes("captured-with-teammate"))

    def members(self) -> list[str]:
        """The names of the members."""
        return [each["name"] for each in json.loads(self.config.read_text())["members"]]

    def add(self, member: Json) -> None:
        """Claude Code adds a member."""
        config = json.loads(self.config.read_text())
        config["members"].append(member)
        self.config.write_text(json.dumps(config, indent=2))


class SessionSocket:
    """What was said to the session over its socket, one list of lines for each connection."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.said: list[list[Json]] = []
        self.is_quiet = asyncio.Event()
        """No connection is open."""
        self.is_quiet.set()
        self._heard = asyncio.Condition()

    async def until(self, is_true: Callable[[], bool]) -> None:
        """Wait until what was said makes this true."""
        async with asyncio.timeout(PATIENCE), self._heard:
            await self._heard.wait_for(is_true)

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """One connection. They come one after the other."""
        self.is_quiet.clear()
        lines = (await reader.read()).splitlines()
        async with self._heard:
            self.said.append([json.loads(line) for line in lines])
            self._heard.notify_all()
        writer.close()
        self.is_quiet.set()


@contextlib.asynccontextmanager
async def session_socket(path: Path) -> AsyncIterator[SessionSocket]:
    """Listen on it."""
    found = SessionSocket(path)
    server = await asyncio.start_unix_server(found.serve, path)
    try:
        yield found
    finally:
        server.close()
        await server.wait_closed()
        await found.is_quiet.wait()
