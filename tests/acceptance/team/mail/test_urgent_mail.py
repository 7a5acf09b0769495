"""Urgent mail is added to the running turn of a busy agent, if the setting says so; else it waits like other mail."""

from codex_mcp.scripted_model.server import ScriptedModel
from tests.support.servers.mcp_server import Json
from tests.support.team.fixtures import Team, codex_flags, team
from tests.support.team.mailboxes import envelopes, inbox, put, record, unread
from tests.support.team.scenes import TEAM_SCRIPT, gate, heard
from tests.support.team.team_server import TeamServer, say, structured

__all__ = ["codex_flags", "team"]

STEERS = ("--steer-urgent-mail", "yes")

LOOKS = 30
"""Calls after which a server that does too early what it should not do yet has done it."""


def urgent(text: str, number: int) -> Json:
    """An urgent message of the lead."""
    return record(text, number, metadata={"atm": {"urgent": True}})


def delivered(model: ScriptedModel) -> list[list[str]]:
    """The texts of each envelope that the model was given."""
    return [[each["text"] for each in mail] for mail in envelopes(model)]


def events(server: TeamServer) -> list[str]:
    """What the audit lists of turns and mail; nothing if there is no audit yet."""
    found = server.audit() if (server.state_dir / "audit.jsonl").exists() else []
    return [each["event"] for each in found if each["event"] in ("codex", "codex-reply", "mail", "mail_steered")]


async def test_urgent_mail_is_added_to_the_running_turn_once_and_other_mail_waits(team: Team) -> None:
    async with team(*STEERS, script=TEAM_SCRIPT) as (server, model):
        put(server, "lead")
        call = server.call("codex", {"prompt": gate(), "identity": "arch"})
        await model.wait_for_gate("gate")
        put(server, "arch", record("in time", 1), urgent("at once", 2))
        await server.until(lambda: "mail_steered" in events(server))
        model.release("gate")
        answer = structured(await server.result(call))
        assert answer["content"].endswith("Done."), "the turn has gone on after the mail"
        await server.until(lambda: events(server) == ["mail_steered", "codex", "mail"])
        await server.until(lambda: unread(server, "arch") == [])
        assert delivered(model) == [["at once"], ["in time"]]
        assert "It is not from your operator" in heard(model)
        assert [each["redelivered"] for mail in envelopes(model) for each in mail] == [False, False]
        assert (await server.reply("arch", say("later")))["content"] == "later"
        assert delivered(model) == [["at once"], ["in time"]]


async def test_mail_that_is_sent_in_a_steered_turn_has_more_hops_than_the_urgent_mail(team: Team) -> None:
    async with team(*STEERS, script=TEAM_SCRIPT) as (server, model):
        put(server, "ping")
        call = server.call("codex", {"prompt": gate(), "identity": "pong"})
        await model.wait_for_gate("gate")
        put(server, "pong", record("[[scene: pong]]", 1, metadata={"atm": {"urgent": True, "hops": 4}}))
        await server.until(lambda: unread(server, "pong") == [])
        model.release("gate")
        await server.result(call)
        (answer,) = inbox(server, "ping")
        assert answer["metadata"]["atm"]["hops"] == 5


async def test_urgent_mail_waits_for_the_end_of_the_turn_where_the_setting_is_off(team: Team) -> None:
    async with team(script=TEAM_SCRIPT) as (server, model):
        await urgent_mail_waits(server, model)


async def urgent_mail_waits(server: TeamServer, model: ScriptedModel) -> None:
    """Urgent mail for a busy agent is its next prompt."""
    put(server, "lead")
    call = server.call("codex", {"prompt": gate(), "identity": "arch"})
    await model.wait_for_gate("gate")
    put(server, "arch", urgent("at once", 1))
    for _ in range(LOOKS):
        assert (await server.status())["pending_mail"] == 1
    model.release("gate")
    assert structured(await server.result(call))["content"].endswith("The gate is open.")
    await server.until(lambda: events(server) == ["codex", "mail"])
    await server.until(lambda: unread(server, "arch") == [])
    assert delivered(model) == [["at once"]]


async def test_a_sender_can_call_its_mail_urgent(team: Team) -> None:
    async with team("--auto-mail", "no", script=TEAM_SCRIPT) as (server, _model):
        await server.start(say("one"), identity="arch")
        await server.start(say("two"), identity="dev")
        await server.run("atm_send", {"identity": "arch", "to": "dev", "message": "Stop.", "urgent": True})
        await server.run("atm_broadcast", {"identity": "arch", "message": "Go on."})
        assert [each["metadata"]["atm"].get("urgent") for each in inbox(server, "dev")] == [True, None]
