"""What a person sees of a team from another terminal, while the team works."""

import asyncio
import json
from pathlib import Path

from tests.support.patience import PATIENCE
from tests.support.servers.commands import command
from tests.support.servers.mcp_server import Json
from tests.support.team.team_server import GATE, TeamServer, say, team_server


def asked(server: TeamServer, *words: str) -> Json:
    """What a command says to programs."""
    told = command(server.setup.home, *words, "--json")
    assert (told.returncode, told.stderr) == (0, "")
    answer: Json = json.loads(told.stdout)
    return answer


async def until_idle(server: TeamServer, codex_id: str) -> None:
    """Wait until its record says so, which is written a moment after its answer was given."""
    async with asyncio.timeout(PATIENCE):
        while (codex_id, "idle") not in {
            (entry["codex_id"], entry["thread_state"]) for entry in asked(server, "threads")["threads"]
        }:
            await server.threads()


async def test_agents_are_seen_from_their_start_to_their_end(tmp_path: Path) -> None:
    async with team_server(tmp_path) as (server, model):
        alice = (await server.start(GATE, identity="alice", background=True))["codex_id"]
        bob = (await server.start(say("done"), identity="bob"))["codex_id"]
        await model.wait_for_gate("gate")

        await until_idle(server, bob)
        seen = {entry["codex_id"]: entry for entry in asked(server, "threads")["threads"]}
        assert {codex_id: (entry["status"], entry["thread_state"]) for codex_id, entry in seen.items()} == {
            alice: ("active", "busy"),
            bob: ("active", "idle"),
        }
        assert asked(server, "threads", "--prune", "--older-than", "0")["removed"] == []

        await server.close_agent("alice")
        assert asked(server, "summary", "alice") | {"text": "", "written_at": ""} == {
            "schema": 1,
            "identity": "alice",
            "thread_id": seen[alice]["thread_id"],
            "text": "",
            "written_at": "",
        }
        assert asked(server, "summary", alice) == asked(server, "summary", seen[alice]["thread_id"])
        assert [entry["identity"] for entry in asked(server, "threads")["threads"]] == ["bob"]
        assert asked(server, "threads", "--prune", "--older-than", "0")["removed"][0]["codex_id"] == alice
        assert list(await server.threads()) == [bob]

    assert [entry["identity"] for entry in asked(server, "threads", "--all")["threads"]] == ["bob"]
    assert "bob" in {entry.get("identity") for entry in asked(server, "audit", "--identity", "bob")["entries"]}


async def test_agents_of_a_server_that_was_killed_are_stale_at_once(tmp_path: Path) -> None:
    async with team_server(tmp_path) as (server, _):
        await server.start(say("done"), identity="alice")
        server.process.kill()
        await server.exit_code()
        assert [entry["status"] for entry in asked(server, "threads")["threads"]] == ["stale"]
        assert [entry["identity"] for entry in asked(server, "threads", "--prune", "--older-than", "0")["removed"]] == [
            "alice"
        ]
        assert asked(server, "threads", "--all")["threads"] == []
