"""The real `codex-mcp serve` as a child process, on the real Codex and a scripted model."""

import asyncio
import contextlib
import json
import signal
from collections.abc import AsyncIterator, Sequence
from pathlib import Path
from typing import Any

from codex_mcp.scripted_model.load import load_script
from codex_mcp.scripted_model.server import ScriptedModel
from tests.support.servers.mcp_server import TOUR, Json, McpServer, Setup

GATE = "[[scene: gate]]"

SUMMARIES = 5.0
"""Seconds for agents to sum up, which takes them some tenths; a test that leaves a turn running waits for so long."""


def say(text: str) -> str:
    """A prompt that is answered with this text."""
    return f'[[scene: say text="{text}"]]'


class TeamServer(McpServer):
    """A server with a team, and what a caller does with it."""

    async def ask_to_end(self) -> None:
        """One signal, so that agents can summarize their work; a second one if something still runs after a while."""
        self.signal(signal.SIGTERM)
        try:
            async with asyncio.timeout(SUMMARIES):
                await self.process.wait()
        except TimeoutError:
            self.signal(signal.SIGINT)

    @property
    def state_dir(self) -> Path:
        """Its state folder."""
        return self.setup.home / ".config/atm/codex-sessions"

    async def start(self, prompt: str, **arguments: Any) -> Json:
        """Start an agent; return what is said of it and its answer."""
        return await self.start_with({"prompt": prompt, **arguments})

    async def start_with(self, arguments: Json) -> Json:
        """Start an agent, or resume one, with these arguments and no others."""
        return structured(await self.run("codex", arguments))

    async def reply(self, who: str, prompt: str, **arguments: Any) -> Json:  # type: ignore[override]
        """Go on with an agent, by whatever name."""
        return structured(await self.run("codex-reply", {**_named(who), "prompt": prompt, **arguments}))

    async def close_agent(self, who: str) -> Json:
        """Close an agent."""
        return structured(await self.run("codex_close", _named(who)))

    async def threads(self) -> dict[str, Json]:
        """The agents by codex_id."""
        listed = structured(await self.run("codex_threads", {}))["threads"]
        return {thread["codex_id"]: thread for thread in listed}

    async def status(self) -> Json:
        """What `codex_status` reports."""
        return structured(await self.run("codex_status", {}))

    def registry(self) -> dict[str, Json]:
        """The agents in registry.json by codex_id."""
        written = json.loads((self.state_dir / "registry.json").read_text())
        return {entry["codex_id"]: entry for entry in written["sessions"]}

    def audit(self) -> list[Json]:
        """All entries of the audit."""
        return [json.loads(line) for line in (self.state_dir / "audit.jsonl").read_text().splitlines()]


def _named(who: str) -> Json:
    return {"codex_id": who} if who.startswith("codex:") else {"identity": who}


def structured(result: Json) -> Json:
    """What a result says to programs."""
    assert "structuredContent" in result, result
    content: Json = result["structuredContent"]
    return content


def refusal(result: Json) -> str:
    """The text of a result that is an error."""
    assert result.get("isError") is True, result
    text: str = result["content"][0]["text"]
    return text


@contextlib.asynccontextmanager
async def team_server(
    folder: Path,
    *flags: str,
    overrides: Sequence[str] = (),
    environment: dict[str, str] | None = None,
    script: Path = TOUR,
    elicitation: bool = True,
    kind: type[TeamServer] = TeamServer,
) -> AsyncIterator[tuple[TeamServer, ScriptedModel]]:
    """An initialized server, and its model. Servers of one folder share their state."""
    async with ScriptedModel(load_script(script)) as model:
        setup = Setup(folder, [*model.codex_overrides(), *overrides], flags, environment or {}, "serve")
        async with kind(setup) as server:
            await server.initialize(elicitation=elicitation)
            yield server, model
