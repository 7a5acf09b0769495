"""Codex itself as a client of our server: an agent that lets another agent work."""

import contextlib
import json
import os
import signal
from collections.abc import AsyncIterator
from pathlib import Path

import msgspec
import pytest

from codex_mcp.scripted_model.load import load_script
from codex_mcp.scripted_model.server import ScriptedModel
from tests.support.clients.codex_exec import SCRIPT, Office, codex_exec
from tests.support.processes import the_server
from tests.support.servers.mcp_server import Setup

WAIT = r"""{ call = "codex_wait", namespace = "mcp__codex",
arguments = '{"threadIds": ["{thread}"], "offset": {offset}}',
if_output = 'codex_wait \W+threadIds\W+(?P<thread>[-0-9a-f]{36})\W+offset\W+(?P<offset>\d+)' }""".replace("\n", " ")

PAGING = f"""
default = "worker"

[scenes.worker]
steps = [{{ say = ANSWER }}]

[scenes.boss]
steps = [
    {{ call = "codex", namespace = "mcp__codex", arguments = {{ prompt = "work" }} }},
    {WAIT}, {WAIT}, {WAIT}, {WAIT},
    {{ say = "That was all." }},
]
"""
"""An answer that is read in at most five parts."""


@contextlib.asynccontextmanager
async def at_work(folder: Path, scene: str, script: Path = SCRIPT) -> AsyncIterator[tuple[Office, ScriptedModel]]:
    """Codex with a server that it starts itself, and the model that plays both it and the agents behind our server."""
    async with ScriptedModel(load_script(script)) as model:
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


@pytest.mark.parametrize("sign", ["漢", "é", '"', "\\"])
async def test_a_long_answer_reaches_the_calling_agent_whole_whatever_it_is_written_in(
    tmp_path: Path, sign: str
) -> None:
    """Codex guesses tokens from bytes, and takes the middle out of what has too many."""
    answer = "\n".join(f"line-{number} {100 * sign}" for number in range(300))
    script = tmp_path / "script.toml"
    script.write_text(PAGING.replace("ANSWER", json.dumps(answer, ensure_ascii=False)), encoding="utf-8")
    async with at_work(tmp_path, "boss", script) as (office, model):
        assert (await office.finish())[-1]["text"] == "That was all."
        shown = json.dumps(model.requests[-1].json["input"], ensure_ascii=False)
    assert "tokens truncated" not in shown
    assert {number: shown.count(f"line-{number} ") for number in range(300)} == dict.fromkeys(range(300), 1)


async def test_a_killed_server_is_an_error_for_the_calling_agent(tmp_path: Path) -> None:
    async with at_work(tmp_path, "waiting_boss") as (office, model):
        await model.wait_for_gate("door")
        os.kill(the_server(tmp_path / "home").pid, signal.SIGKILL)
        call, said = await office.finish()

        assert call["status"] == "failed"
        assert call["error"]["message"] in said["text"]
