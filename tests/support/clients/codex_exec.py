"""The real `codex exec` with our server in its configuration: an agent that lets other agents work."""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import msgspec

from tests.support.clients.judges import judge, node, started
from tests.support.servers.mcp_server import Json, Setup

SCRIPT = Path(__file__).parents[1] / "scripts/delegation.toml"
"""For both sides: the agent that lets others work, and those others."""


@dataclass(frozen=True, slots=True)
class Office:
    """A running `codex exec`."""

    process: asyncio.subprocess.Process

    async def finish(self) -> list[Json]:
        """Let it come to its end; return the items of its turn."""
        stdout, stderr = await self.process.communicate(b"")
        assert self.process.returncode == 0, stderr.decode()
        events = [msgspec.json.decode(line, type=Json) for line in stdout.splitlines()]
        return [event["item"] for event in events if event["type"] == "item.completed"]


@contextlib.asynccontextmanager
async def codex_exec(
    setup: Setup, server: Sequence[str], scene: str, environment: dict[str, str] | None = None
) -> AsyncIterator[Office]:
    """Start it; `server` is what stands in `[mcp_servers.codex]`. At the end it is gone, with all that it started."""
    setup.make()
    overrides = [
        *setup.overrides,
        *(f"mcp_servers.codex.{line}" for line in server),
        'mcp_servers.codex.default_tools_approval_mode="approve"',
        # Else Codex begins without a server that is not there within a second.
        "mcp_servers.codex.required=true",
    ]
    words = [word for override in overrides for word in ("-c", override)]
    argv = [node(), judge("codex"), "exec", "--skip-git-repo-check", "--json", *words, f"[[scene: {scene}]]"]
    async with started(argv, setup, environment or {}) as process:
        assert process.stdin is not None
        process.stdin.close()
        yield Office(process)
