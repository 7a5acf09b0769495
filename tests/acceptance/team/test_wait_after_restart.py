"""`codex_wait` returns the answer of a turn that ended before a restart and that nobody has collected."""

import os
import signal

import pytest

from tests.support.processes import all_ended
from tests.support.servers.mcp_server import Json
from tests.support.team.fixtures import Team
from tests.support.team.scenes import TEAM_SCRIPT, gate
from tests.support.team.team_server import TeamServer, say, structured

SIGNALS = [signal.SIGKILL, signal.SIGTERM]


async def end(server: TeamServer, how: signal.Signals) -> None:
    os.kill(server.process.pid, how)
    await server.exit_code()
    await all_ended(server.setup.home)


async def waited(server: TeamServer, name: str, **more: object) -> Json:
    return structured(await server.run("codex_wait", {"ids": [name], "timeout-seconds": 0, **more}))


async def until_idle(server: TeamServer) -> None:
    """Until no agent is busy: their turns have ended, and nobody has collected their answers."""
    while True:
        listed = structured(await server.run("codex_threads", {}))["threads"]
        if all(agent["state"] == "idle" for agent in listed):
            return


@pytest.mark.parametrize("how", SIGNALS)
async def test_an_answer_that_nobody_collected_is_there_after_a_restart(team: Team, how: signal.Signals) -> None:
    async with team(script=TEAM_SCRIPT) as (server, _model):
        arch = await server.start(say("the blue door"), identity="arch", background=True)
        await server.start("[[scene: fail]]", identity="fails", background=True)
        await until_idle(server)
        await end(server, how)
    async with team(script=TEAM_SCRIPT) as (server, model):
        asked = len(model.requests)
        (found,) = (await waited(server, "arch"))["finished"]
        assert (found["status"], found["content"]) == ("completed", "the blue door")
        assert (found["identity"], found["codex_id"]) == ("arch", arch["codex_id"])
        assert "filesChanged" not in found
        assert "from Codex's own record" in found["warnings"][0]
        assert (await waited(server, "arch"))["finished"] == []  # reported once
        (again,) = (await waited(server, "arch", again=True))["finished"]
        assert again["content"] == "the blue door"
        (failed,) = (await waited(server, "fails"))["finished"]
        assert failed["status"] == "failed"
        assert failed["content"]
        assert len(model.requests) == asked  # nothing was resumed


async def test_a_turn_that_a_kill_stopped_is_reported_as_interrupted(team: Team) -> None:
    async with team(script=TEAM_SCRIPT) as (server, model):
        await server.start(say("the blue door"), identity="arch")
        await server.reply("arch", gate(), background=True)
        await model.wait_for_gate("gate")
        await end(server, signal.SIGKILL)
    async with team(script=TEAM_SCRIPT) as (server, _model):
        (found,) = (await waited(server, "arch"))["finished"]
        assert found["status"] == "interrupted"
        assert "the blue door" not in found["content"]
