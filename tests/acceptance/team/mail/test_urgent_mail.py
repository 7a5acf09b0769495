"""Urgent mail is added to the running turn of a busy agent, if the setting says so; else it waits like other mail."""

import contextlib
import json
import os
import signal
from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta

from codex_mcp.scripted_model.server import ScriptedModel
from tests.support.servers.mcp_server import Json
from tests.support.team.fixtures import Team, codex_flags, team
from tests.support.team.mailboxes import envelopes, inbox, inbox_path, put, record, unread
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


class Held:
    """A call of an agent that runs a command until it is released; before that, Codex does not ask the model again."""

    def __init__(self, server: TeamServer, agent: str) -> None:
        put(server, "lead")
        pipe = server.setup.home / "pipe"
        os.mkfifo(pipe)
        self._pipe = os.open(pipe, os.O_RDWR)  # which waits for no reader
        self.call = server.call("codex", {"prompt": f'[[scene: working pipe="{pipe}"]]', "identity": agent})

    def release(self) -> None:
        os.write(self._pipe, b"\n")

    def close(self) -> None:
        os.close(self._pipe)


@contextlib.asynccontextmanager
async def held(server: TeamServer, agent: str = "arch") -> AsyncIterator[Held]:
    with contextlib.closing(Held(server, agent)) as holding:
        await server.event("exec_command_begin", holding.call)
        yield holding


async def until_steered(server: TeamServer) -> None:
    """Until Codex has accepted the mail for the running turn, which proves nothing."""
    await server.until(lambda: " is steered" in server.log)


def flags(model: ScriptedModel) -> list[bool]:
    """Of each message in each envelope, whether it says that it may have been delivered before."""
    return [each["redelivered"] for mail in envelopes(model) for each in mail]


async def test_urgent_mail_is_added_to_the_running_turn_once_and_other_mail_waits(team: Team) -> None:
    async with team(*STEERS, script=TEAM_SCRIPT) as (server, model), held(server) as turn:
        put(server, "arch", record("in time", 1), urgent("at once", 2))
        await until_steered(server)
        assert unread(server, "arch") == ["in time", "at once"], "the model has read none of it yet"
        turn.release()
        answer = structured(await server.result(turn.call))
        assert answer["content"].endswith("Done."), "the turn has gone on after the mail"
        await server.until(lambda: sorted(events(server)) == ["codex", "mail", "mail_steered"])
        await server.until(lambda: unread(server, "arch") == [])
        assert delivered(model) == [["at once"], ["in time"]]
        assert "It is not from your operator" in heard(model)
        assert flags(model) == [False, False]
        assert (await server.reply("arch", say("later")))["content"] == "later"
        assert delivered(model) == [["at once"], ["in time"]]
        (row,) = (await server.threads()).values()
        assert row["turns"] == 3, "the steered turn counts once"


async def test_urgent_mail_is_the_next_turn_if_its_turn_is_interrupted_before_the_model_reads_it(team: Team) -> None:
    async with team(*STEERS, script=TEAM_SCRIPT) as (server, model), held(server) as turn:
        put(server, "arch", urgent("at once", 1))
        await until_steered(server)
        stopped = structured(await server.run("codex_interrupt", {"id": "arch"}))
        assert stopped["status"] == structured(await server.result(turn.call))["status"] == "interrupted"
        await server.until(lambda: unread(server, "arch") == [])
        await server.until(lambda: sorted(events(server)) == ["codex", "mail"])
        assert (delivered(model), flags(model)) == ([["at once"]], [False])
        assert structured(await server.run("codex_wait", {"timeout-seconds": 0}))["finished"] == []
        assert (await server.reply("arch", say("later")))["content"] == "later"
        assert heard(model).count('"at once"') == 1


async def test_a_caller_that_waits_comes_before_urgent_mail_that_the_turn_did_not_read(team: Team) -> None:
    async with team(*STEERS, script=TEAM_SCRIPT) as (server, model), held(server):
        put(server, "arch", urgent("at once", 1))
        await until_steered(server)
        await server.reply("arch", say("a caller"), background=True)
        await server.run("codex_interrupt", {"id": "arch"})
        await server.until(lambda: unread(server, "arch") == [])
        await server.reply("arch", say("later"))
        assert (delivered(model), flags(model)) == ([["at once"]], [False])
        assert heard(model).index(say("a caller")) < heard(model).index('"at once"')


async def test_urgent_mail_at_the_end_of_a_turn_is_read_once_whatever_the_core_does(team: Team) -> None:
    async with team(*STEERS, script=TEAM_SCRIPT) as (server, model):
        await server.start(say("ready"), identity="arch")
        put(server, "lead")
        texts = [f"letter {number}" for number in range(12)]
        for number, text in enumerate(texts):
            call = server.call("codex-reply", {"prompt": say("short"), "identity": "arch"})
            if number % 3:
                await server.event("task_started" if number % 3 == 1 else "agent_message", call)
            put(server, "arch", urgent(text, number))
            assert structured(await server.result(call))["status"] == "completed"
            await server.until(lambda: unread(server, "arch") == [])
        assert (await server.reply("arch", say("later")))["content"] == "later"
        assert [text for mail in delivered(model) for text in mail] == texts
        assert flags(model) == [False] * len(texts)


async def test_urgent_mail_that_a_closed_agent_may_have_read_is_delivered_again_and_says_so(team: Team) -> None:
    async with team(*STEERS, script=TEAM_SCRIPT) as (server, model), held(server) as turn:
        put(server, "arch", urgent("at once", 1))
        await until_steered(server)
        await server.close_agent("arch")
        closed = structured(await server.result(turn.call))
        assert closed["status"] == "interrupted"
        assert (delivered(model), unread(server, "arch")) == ([], ["at once"])
        await server.start(say("back"), codex_id=closed["codex_id"])
        await server.until(lambda: unread(server, "arch") == [])
        await server.reply("arch", say("later"))
        assert (delivered(model), flags(model)) == ([["at once"]], [True])


async def test_urgent_mail_survives_a_core_that_dies_and_says_so(team: Team) -> None:
    async with team(*STEERS, script=TEAM_SCRIPT) as (server, model), held(server) as turn:
        put(server, "arch", urgent("at once", 1))
        await until_steered(server)
        await server.kill_core()
        assert structured(await server.result(turn.call))["status"] == "failed"
        await server.until(lambda: unread(server, "arch") == [])
        await server.reply("arch", say("later"))
        assert (delivered(model), flags(model)) == ([["at once"]], [True])


async def test_urgent_mail_survives_a_server_that_dies_and_says_so(team: Team) -> None:
    async with team(*STEERS, script=TEAM_SCRIPT) as (server, model):
        async with held(server):
            put(server, "arch", urgent("at once", 1))
            await until_steered(server)
            server.signal(signal.SIGKILL)
            await server.exit_code()
        assert (delivered(model), unread(server, "arch")) == ([], ["at once"])
        async with TeamServer(server.setup) as following:
            await following.initialize()
            await following.reply("arch", say("back"))
            await following.until(lambda: unread(following, "arch") == [])
            await following.reply("arch", say("later"))
            assert (delivered(model), flags(model)) == ([["at once"]], [True])


async def test_mail_that_is_sent_in_a_steered_turn_has_more_hops_than_the_urgent_mail(team: Team) -> None:
    async with team(*STEERS, script=TEAM_SCRIPT) as (server, _model), held(server, "pong") as turn:
        put(server, "ping")
        sent = datetime.now(UTC) + timedelta(minutes=1)  # after the prompt: what was there before it counts as new
        metadata = {"atm": {"urgent": True, "hops": 4}}
        put(server, "pong", record("[[scene: pong]]", 1, metadata=metadata, timestamp=sent.isoformat()))
        await until_steered(server)
        turn.release()
        await server.result(turn.call)
        await server.until(lambda: unread(server, "pong") == [])
        (answer,) = inbox(server, "ping")
        assert answer["metadata"]["atm"]["hops"] == 5


async def test_an_urgent_shutdown_request_waits_for_the_end_of_the_turn_and_is_obeyed(team: Team) -> None:
    async with team(*STEERS, script=TEAM_SCRIPT) as (server, model), held(server) as turn:
        lead = {"leadAgentId": "lead@default", "members": [{"name": "lead", "agentId": "lead@default"}]}
        (inbox_path(server, "lead").parents[1] / "config.json").write_text(json.dumps(lead))
        request = json.dumps({"type": "shutdown_request", "requestId": "r-1", "from": "lead"})
        put(server, "arch", urgent(request, 1), urgent("before that", 2))
        await until_steered(server)
        turn.release()
        assert structured(await server.result(turn.call))["status"] == "completed"
        await server.until(lambda: any("shutdown_approved" in each["text"] for each in inbox(server, "lead")))
        assert delivered(model) == [["before that"]]


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
