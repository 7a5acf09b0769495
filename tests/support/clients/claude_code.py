"""The real Claude Code, headless, on a task that its scripted model gives it."""

import asyncio
import contextlib
from collections.abc import AsyncIterator
from dataclasses import dataclass

import msgspec

from tests.support.clients.anthropic_model import AnthropicModel, Json, Plan, Use
from tests.support.clients.judges import judge, started
from tests.support.patience import PATIENCE
from tests.support.servers.mcp_server import Setup

SERVER = "mcp__codex"
"""How it names our server, and all tools of it together."""

TOOLS = (f"{SERVER}__codex", f"{SERVER}__codex-reply", f"{SERVER}__codex_wait")

NOT_OUTSIDE = {
    "ANTHROPIC_API_KEY": "none",
    "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
    "DISABLE_AUTOUPDATER": "1",
    # Otherwise it begins without a server that has not connected within seconds.
    "CLAUDE_CODE_MCP_STARTUP_WAIT_MS": str(int(1000 * PATIENCE)),
    # Whatever would still leave this machine ends at a port where nobody listens.
    "HTTPS_PROXY": "http://127.0.0.1:9",
    "NO_PROXY": "127.0.0.1",
}
"""Claude Code needs no account and no network here."""


@dataclass(frozen=True, slots=True)
class Desk:
    """A running Claude Code and its model."""

    process: asyncio.subprocess.Process
    model: AnthropicModel

    async def finish(self) -> list[Json]:
        """Let it come to its end; return what it printed."""
        stdout, stderr = await self.process.communicate()
        assert self.process.returncode == 0, stderr.decode()
        return [msgspec.json.decode(line) for line in stdout.splitlines()]


@contextlib.asynccontextmanager
async def claude_code(
    setup: Setup, server: Json, plan: Plan, environment: dict[str, str] | None = None
) -> AsyncIterator[Desk]:
    """Start it with this server in its configuration. At the end it is gone, with all that it started."""
    setup.make()
    async with AnthropicModel(plan) as model:
        servers = msgspec.json.encode({"mcpServers": {"codex": server}}).decode()
        words = ["-p", "Let Codex work.", "--mcp-config", servers, "--strict-mcp-config"]
        words += ["--allowedTools", SERVER, "--output-format", "stream-json", "--verbose"]
        told = {**NOT_OUTSIDE, "ANTHROPIC_BASE_URL": model.base_url, **(environment or {})}
        async with started([judge("claude"), *words], setup, told) as process:
            assert process.stdin is not None
            process.stdin.close()
            yield Desk(process, model)


def codex(prompt: str, **arguments: object) -> Use:
    """Its model starts an agent."""
    return tool("codex", prompt=prompt, **arguments)


def codex_reply(thread: str, prompt: str, **arguments: object) -> Use:
    """Its model continues a thread."""
    return tool("codex-reply", threadId=thread, prompt=prompt, **arguments)


def tool(name: str, **arguments: object) -> Use:
    """Its model calls one of our tools."""
    return Use(f"{SERVER}__{name}", arguments)
