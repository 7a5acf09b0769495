"""Several servers start at once in a home in which no Codex has run: every first call is answered."""

import asyncio
from pathlib import Path

from codex_cli_bin import bundled_codex_path

from codex_mcp.scripted_model.load import load_script
from codex_mcp.scripted_model.server import ScriptedModel
from tests.support.servers.mcp_server import TOUR, Json, McpServer, Setup, scripted_server

SERVERS = 4
ROUNDS = 3
"""Without the lock about half of the calls fail, so that three rounds of four pass once in thousands of runs."""


async def first_call(setup: Setup) -> Json:
    async with McpServer(setup) as server:
        await server.initialize()
        return await server.run("codex", {"prompt": "hi"})


async def test_servers_that_start_at_once_in_a_new_home_all_answer_their_first_call(tmp_path: Path) -> None:
    async with ScriptedModel(load_script(TOUR)) as model:
        for number in range(ROUNDS):
            setup = Setup(tmp_path / str(number), model.codex_overrides())
            results = await asyncio.gather(*(first_call(setup) for _ in range(SERVERS)))
            assert [result for result in results if result.get("isError")] == []


WRAPPER = """#!/bin/sh
if [ "$1" = app-server ] && [ ! -e {marker} ]; then
    touch {marker}
    echo "Error: failed to initialize sqlite state runtime under /home/me/.codex" >&2
    exit 1
fi
exec {codex} "$@"
"""


async def test_a_codex_that_met_another_one_is_started_again(tmp_path: Path) -> None:
    """The user's own Codex does not know our lock."""
    program, marker = tmp_path / "codex", tmp_path / "failed-once"
    program.write_text(WRAPPER.format(marker=marker, codex=bundled_codex_path()))
    program.chmod(0o755)
    async with scripted_server(tmp_path, "--codex-bin", str(program), "--allow-untested-codex") as (server, _model):
        await server.initialize()
        result = await server.run("codex", {"prompt": "hi"})
        assert not result.get("isError"), result
        assert "starting it again" in server.log
    assert marker.exists()
