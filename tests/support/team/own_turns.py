"""What tests of goals and sub-agents share: the script, and the requests that belong to an agent."""

from pathlib import Path

import msgspec

from codex_mcp.scripted_model.server import ScriptedModel
from tests.support.team.team_server import TeamServer

OWN_TURNS = Path(__file__).parents[1] / "scripts/own_turns.toml"

FENCES = 5
"""Turns of another agent that end after the moment in question. A goal begins its turns faster than that."""


def requests_of(model: ScriptedModel, thread_id: object) -> int:
    """How many requests the model got from a thread and its sub-agents."""
    return sum(_session(request.body) == thread_id for request in model.requests)


def _session(body: bytes) -> object:
    return msgspec.json.decode(body).get("client_metadata", {}).get("session_id")


async def fence(server: TeamServer, turns: int = FENCES) -> None:
    """Let time pass in which a thread that was not stopped makes more requests."""
    fence = await server.start("hello", identity=f"fence-{len(await server.threads())}")
    for _ in range(turns):
        await server.reply(fence["codex_id"], "hello")
    await server.close_agent(fence["codex_id"])
