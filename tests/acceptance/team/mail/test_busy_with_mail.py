"""A turn that mail began is steered and interrupted like any other."""

from tests.support.team.fixtures import Team, codex_flags, team
from tests.support.team.mailboxes import put, record, unread
from tests.support.team.scenes import TEAM_SCRIPT
from tests.support.team.team_server import TeamServer, say, structured

__all__ = ["codex_flags", "team"]


async def mail_turn(server: TeamServer) -> None:
    """An agent that is given mail, whose turn waits at the gate."""
    put(server, "lead")
    await server.start(say("ready"), identity="arch")
    put(server, "arch", record("[[scene: gate]]"))


async def finished(server: TeamServer) -> list[str]:
    """The statuses of the turns that are news."""
    waited = structured(await server.run("codex_wait", {"timeout-seconds": 0}))
    return [turn["status"] for turn in waited["finished"]]


async def test_it_is_interrupted_and_the_mail_stays_read(team: Team) -> None:
    async with team(script=TEAM_SCRIPT) as (server, model):
        await mail_turn(server)
        await model.wait_for_gate("gate")
        stopped = structured(await server.run("codex_interrupt", {"id": "arch"}))
        assert (stopped["identity"], stopped["status"]) == ("arch", "interrupted")
        await server.until(lambda: unread(server, "arch") == [])
        assert (await server.reply("arch", say("still here")))["content"] == "still here"
        assert await finished(server) == []


async def test_it_is_steered_and_its_end_is_the_answer(team: Team) -> None:
    async with team(script=TEAM_SCRIPT) as (server, model):
        await mail_turn(server)
        await model.wait_for_gate("gate")
        assert (await server.reply("arch", say("left"), when="steer"))["content"] == "left"
        assert await finished(server) == []
