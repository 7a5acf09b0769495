"""Servers of two machines, whose agents are recorded in one PostgreSQL."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from codex_mcp.scripted_model.load import load_script
from codex_mcp.scripted_model.server import ScriptedModel
from tests.support.servers.mcp_server import TOUR, Setup
from tests.support.state.postgres import Postgres
from tests.support.team.team_server import TeamServer, refusal, say


@pytest.fixture
def postgres() -> Iterator[Postgres]:
    """A database server."""
    server = Postgres()
    server.start()
    yield server
    server.remove()


class _Elsewhere(Setup):
    """A server that sees another host name."""

    def argv(self) -> list[str]:
        """The command line."""
        renamed = 'hostname elsewhere && exec "$@"'
        return ["unshare", "--user", "--map-root-user", "--uts", "sh", "-c", renamed, "sh", *super().argv()]


async def test_servers_of_two_machines_share_a_team(tmp_path: Path, postgres: Postgres) -> None:
    async with ScriptedModel(load_script(TOUR)) as model:
        place = {"CODEX_MCP_STATE": await postgres.schema()}
        here = Setup(tmp_path / "here", model.codex_overrides(), command="serve", environment=place)
        there = _Elsewhere(tmp_path / "there", model.codex_overrides(), command="serve", environment=place)
        async with TeamServer(here) as one, TeamServer(there) as two:
            await one.initialize()
            await two.initialize()
            arch = (await one.start(say("hello"), identity="arch"))["codex_id"]
            assert list(await two.threads()) == [arch]
            assert "is run by another server" in refusal(await two.run("codex-reply", {"id": arch, "prompt": "x"}))
            assert "is taken by" in refusal(await two.run("codex", {"identity": "arch", "prompt": "x"}))
            await two.start(say("here"), identity="docs", request_id="any \0 character")
            again = {"identity": "docs", "prompt": say("here"), "request_id": "any \0 character"}
            assert (await two.start_with(again))["content"] == "here"
            assert {each["identity"] for each in (await one.threads()).values()} == {"arch", "docs"}

            await one.close_agent(arch)
            refused = refusal(await two.run("codex", {"codex_id": arch, "prompt": "x"}))
            assert "its conversation and its folder are files there" in refused
            assert (await one.start_with({"codex_id": arch, "prompt": say("again")}))["content"] == "again"
            assert not (one.state_dir / "state.db").exists()


async def test_a_database_that_cannot_be_used_ends_the_server_at_once_with_the_reason(tmp_path: Path) -> None:
    place = {"CODEX_MCP_STATE": "postgresql://me:secret@db.example/team"}
    async with TeamServer(Setup(tmp_path, command="serve", environment=place)) as server:
        assert await server.exit_code() != 0
        assert "add ?sslmode=verify-full" in server.stderr
        assert "secret" not in server.stderr
