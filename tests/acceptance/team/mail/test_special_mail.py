"""Mail that is no ordinary prompt: agents that wake each other, idle notices, requests to shut down."""

import contextlib
import json
import time
from collections.abc import AsyncIterator
from pathlib import Path

from codex_mcp.mail.address import Address
from codex_mcp.mail.database import mail_database
from codex_mcp.mail.delivery.loop_protection import Budget, MailTurn
from codex_mcp.state.embedded.small_database import SmallDatabase
from codex_mcp.team.mail.loop_guard import TrafficLog
from tests.support.team.fixtures import Team, codex_flags, team
from tests.support.team.mailboxes import inbox, inbox_path, put, record, unread
from tests.support.team.scenes import TEAM_SCRIPT, heard
from tests.support.team.team_server import TeamServer, say, structured

__all__ = ["codex_flags", "team"]


@contextlib.asynccontextmanager
async def database(state_dir: Path) -> AsyncIterator[SmallDatabase]:
    """The mail's database, while no server uses it."""
    mail = mail_database(str(state_dir))
    await mail.open()
    try:
        yield mail
    finally:
        await mail.aclose()


def name_the_lead(server: TeamServer) -> None:
    """The configuration of the team names its lead."""
    put(server, "lead")
    config = {"name": "default", "leadAgentId": "lead@default", "members": [{"name": "lead"}]}
    (inbox_path(server, "lead").parents[1] / "config.json").write_text(json.dumps(config))


def _hops(server: TeamServer) -> list[int]:
    found = [each for who in ("ping", "pong") for each in inbox(server, who)]
    return [each["metadata"]["atm"].get("hops", 0) for each in found]


async def test_two_agents_that_always_answer_stop_after_max_hops_and_the_lead_is_told(team: Team) -> None:
    async with team("--max-hops", "3", script=TEAM_SCRIPT) as (server, _model):
        name_the_lead(server)
        await server.start(say("one"), identity="ping")
        await server.start(say("two"), identity="pong")
        # Each of them answers every message to the other one with a message that wants the same of it.
        await server.run("atm_send", {"identity": "ping", "to": "pong", "message": "[[scene: pong]]"})
        await server.until(lambda: inbox(server, "lead") != [])
        found = [each for who in ("ping", "pong") for each in inbox(server, who)]
        assert sorted(_hops(server)) == [0, 1, 2, 3]
        (held,) = [each for each in found if not each["read"]]
        assert held["metadata"]["atm"]["hops"] == 3
        (notice,) = inbox(server, "lead")
        assert "held back" in notice["text"]
        held_by = "ping" if held["from"] == "pong" else "pong"
        assert structured(await server.run("codex_status", {}))["held_mail"] == {held_by: 1}
        # A caller goes first and is answered; then comes what was held, and counts as new.
        assert (await server.reply(held_by, say("well")))["content"] == "well"
        await server.until(lambda: held["text"] not in unread(server, held_by))
        await server.until(lambda: len(_hops(server)) == 7)
        assert sorted(_hops(server)) == [0, 1, 1, 2, 2, 3, 3]


async def test_what_earlier_servers_counted_still_holds_mail_back(team: Team) -> None:
    async with team(script=TEAM_SCRIPT) as (server, _model):
        name_the_lead(server)
        await server.start(say("one"), identity="arch")
    # As if many others had written to arch in the last minutes.
    async with database(server.state_dir) as mail:
        log = TrafficLog(mail, Budget())
        for number in range(Budget().per_agent):
            await log.add(
                MailTurn(time.time(), Address("arch", "default"), frozenset({Address(f"s{number}", "default")}))
            )
    async with team(script=TEAM_SCRIPT) as (server, model):
        await server.start(say("two"), identity="dev")
        await server.start(say("back"), identity="arch")
        put(server, "arch", record("one too many", 1))
        put(server, "dev", record("for the other", 2))
        await server.until(lambda: inbox(server, "lead") != [] and unread(server, "dev") == [])
        assert "held back" in inbox(server, "lead")[0]["text"]
        assert unread(server, "arch") == ["one too many"]
        assert "one too many" not in heard(model)


async def test_idle_notices_wake_no_agent_and_only_the_newest_of_each_sender_goes_with_other_mail(team: Team) -> None:
    async with team(script=TEAM_SCRIPT) as (server, model):
        put(server, "lead")
        await server.start(say("one"), identity="arch")
        before = len(model.requests)
        notices = [record(json.dumps({"type": "idle_notification", "n": n}), n, sender="dev") for n in range(3)]
        put(server, "arch", *notices)
        await server.until(lambda: len(unread(server, "arch")) == 1)
        assert len(model.requests) == before
        put(server, "arch", record("real mail", 9))
        await server.until(lambda: unread(server, "arch") == [])
        await server.until(lambda: server.audit()[-1]["event"] == "mail")
        assert len(model.requests) == before + 1
        assert "real mail" in heard(model)
        assert [f'\\"n\\": {n}' in heard(model) for n in range(3)] == [False, False, True]


async def test_the_lead_and_nobody_else_can_ask_an_agent_to_shut_down(team: Team) -> None:
    async with team(script=TEAM_SCRIPT) as (server, model):
        name_the_lead(server)
        dev = await server.start(say("one"), identity="dev")
        request = json.dumps({"type": "shutdown_request", "requestId": "r-1", "from": "lead"})
        put(server, "dev", record(request, 1, sender="stranger"))
        await server.until(lambda: unread(server, "dev") == [])
        await server.until(lambda: server.audit()[-1]["event"] == "mail")
        assert "r-1" in heard(model)
        assert (await server.threads())[dev["codex_id"]]["status"] == "active"
        put(server, "dev", record(request, 2, sender="lead"))
        await server.until(lambda: inbox(server, "lead") != [])
        (answer,) = inbox(server, "lead")
        said = json.loads(answer["text"])
        assert (answer["from"], said["type"], said["requestId"]) == ("dev", "shutdown_approved", "r-1")
        assert (await server.threads())[dev["codex_id"]]["status"] == "closed"
        assert ("shutdown_request", "ok") in [(each["event"], each["outcome"]) for each in server.audit()]
        assert unread(server, "dev") == []
