"""Codex itself as a client of our server: an agent that lets another agent work."""

import asyncio
import contextlib
import os
import signal
from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path

import msgspec

from codex_mcp.scripted_model.load import load_script
from codex_mcp.scripted_model.server import ScriptedModel
from tests.support.judges import judge, node, started
from tests.support.mcp_server import Json, Setup
from tests.support.processes import the_server

SCRIPT = Path(__file__).parents[1] / "support/scripts/delegation.toml"


@dataclass(frozen=True, slots=True)
class Office:
    """A running `codex exec`, and the model that plays both it and the agents behind our server."""

    process: asyncio.subprocess.Process
    model: ScriptedModel

    async def finish(self) -> list[Json]:
        """Let it come to its end; return the items of its turn."""
        stdout, stderr = await self.process.communicate(b"")
        assert self.process.returncode == 0, stderr.decode()
        events = [msgspec.json.decode(line, type=Json) for line in stdout.splitlines()]
        return [event["item"] for event in events if event["type"] == "item.completed"]


@contextlib.asynccontextmanager
async def codex_exec(folder: Path, scene: str) -> AsyncIterator[Office]:
    """Start it with our server in its configuration. At the end it is gone, and our server with it."""
    async with ScriptedModel(load_script(SCRIPT)) as model:
        setup = Setup(folder, model.codex_overrides())
        setup.make()
        command, *args = (msgspec.json.encode(word).decode() for word in setup.argv())
        inner_home = folder / "inner"
        inner_home.mkdir()
        overrides = [
            *model.codex_overrides(),
            f"mcp_servers.codex.command={command}",
            f"mcp_servers.codex.args=[{', '.join(args)}]",
            f'mcp_servers.codex.env={{CODEX_HOME="{inner_home}"}}',
            'mcp_servers.codex.default_tools_approval_mode="approve"',
            # Else Codex begins without a server that is not there within a second.
            "mcp_servers.codex.required=true",
        ]
        words = [word for override in overrides for word in ("-c", override)]
        argv = [node(), judge("codex"), "exec", "--skip-git-repo-check", "--json", *words, f"[[scene: {scene}]]"]
        async with started(argv, setup, {}) as process:
            assert process.stdin is not None
            process.stdin.close()
            yield Office(process, model)


async def test_a_codex_agent_starts_another_one_and_continues_its_thread(tmp_path: Path) -> None:
    async with codex_exec(tmp_path, "boss") as office:
        items = await office.finish()
        first, second, _ = items

        assert (first["tool"], second["tool"]) == ("codex", "codex-reply")
        assert first["result"]["structured_content"]["content"] == "Done: the first half"
        assert second["result"]["structured_content"]["content"] == "Done: the second half"
        thread = first["result"]["structured_content"]["threadId"]
        assert second["arguments"]["threadId"] == thread
        assert [seen.thread for seen in office.model.requests].count(thread) == 2


async def test_a_killed_server_is_an_error_for_the_calling_agent(tmp_path: Path) -> None:
    async with codex_exec(tmp_path, "waiting_boss") as office:
        await office.model.wait_for_gate("door")
        os.kill(the_server(tmp_path / "home").pid, signal.SIGKILL)
        call, said = await office.finish()

        assert call["status"] == "failed"
        assert call["error"]["message"] in said["text"]
