"""Codex itself as a client of our server: an agent that lets another agent work."""

import contextlib
import os
import signal
from collections.abc import AsyncIterator
from pathlib import Path

import msgspec

from codex_mcp.scripted_model.load import load_script
from codex_mcp.scripted_model.server import ScriptedModel
from tests.support.clients.codex_exec import SCRIPT, Office, codex_exec
from tests.support.processes import the_server
from tests.support.servers.mcp_server import Setup


@contextlib.asynccontextmanager
async def at_work(folder: Path, scene: str) -> AsyncIterator[tuple[Office, ScriptedModel]]:
    """Codex with a server that it starts itself, and the model that plays both it and the agents behind our server."""
    async with ScriptedModel(load_script(SCRIPT)) as model:
        setup = Setup(folder, model.codex_overrides())
        command, *args = (msgspec.json.encode(word).decode() for word in setup.argv())
        inner_home = folder / "inner"
        inner_home.mkdir()
        server = [f"command={command}", f"args=[{', '.join(args)}]", f'env={{CODEX_HOME="{inner_home}"}}']
        async with codex_exec(setup, server, scene) as office:
            yield office, model


async def test_a_codex_agent_starts_another_one_and_continues_its_thread(tmp_path: Path) -> None:
    async with at_work(tmp_path, "boss") as (office, model):
        items = await office.finish()
        first, second, _ = items

        assert (first["tool"], second["tool"]) == ("codex", "codex-reply")
        assert first["result"]["structured_content"]["content"] == "Done: the first half"
        assert second["result"]["structured_content"]["content"] == "Done: the second half"
        thread = first["result"]["structured_content"]["threadId"]
        assert second["arguments"]["threadId"] == thread
        assert [seen.thread for seen in model.requests].count(thread) == 2


async def test_a_killed_server_is_an_error_for_the_calling_agent(tmp_path: Path) -> None:
    async with at_work(tmp_path, "waiting_boss") as (office, model):
        await model.wait_for_gate("door")
        os.kill(the_server(tmp_path / "home").pid, signal.SIGKILL)
        call, said = await office.finish()

        assert call["status"] == "failed"
        assert call["error"]["message"] in said["text"]
