"""Codex dies while turns run: all waiting calls are told how, and the next call works."""

import os
import signal

from tests.support.requirements import requirement
from tests.support.team.fixtures import Team
from tests.support.team.scenes import TEAM_SCRIPT, gate
from tests.support.team.team_server import refusal, say, structured


@requirement("FR-11.1", "FR-11.2", "FR-11.3", "NFR-2")
async def test_everybody_who_waits_is_told_how_codex_died_and_the_next_call_works(team: Team) -> None:
    async with team(script=TEAM_SCRIPT) as (server, model):
        await server.start(say("ready"), identity="idle")
        running = [server.call("codex", {"prompt": gate(name), "identity": name}) for name in ("arch", "dev")]
        for name in ("arch", "dev"):
            await model.wait_for_gate(name)
        waiting = server.call("codex-reply", {"prompt": say("next"), "identity": "arch"})
        while (await server.status())["queues"] != {"arch": 1}:
            pass
        before = (await server.status())["core"]
        assert (before["alive"], before["last_exit"]) == (True, None)
        os.kill(before["pid"], signal.SIGKILL)
        for call in (*running, waiting):
            assert "SIGKILL" in refusal(await server.result(call))
        status = await server.status()
        assert (status["core"]["alive"], status["core"]["last_exit"]) == (False, "signal SIGKILL")
        assert status["threads"] == {"active": 3, "busy": 0, "idle": 3, "limit": 10}
        # Nothing starts by itself; the next call gets a new Codex, and the agents continue where they were.
        for name in ("arch", "dev", "idle"):
            assert (await server.reply(name, say(f"{name} is back")))["content"] == f"{name} is back"
        after = (await server.status())["core"]
        assert (after["alive"], after["starts"], after["last_exit"]) == (True, 2, "signal SIGKILL")
        rows = {row["identity"]: row for row in (await server.threads()).values()}
        assert {row["state"] for row in rows.values()} == {"idle"}
        outcomes = [entry["outcome"] for entry in server.audit() if entry.get("identity") == "dev"]
        assert outcomes[:1] == ["failed"]


@requirement("FR-11.1", "NFR-2")
async def test_a_codex_that_dies_while_nobody_waits_is_followed_by_another(team: Team) -> None:
    async with team(script=TEAM_SCRIPT) as (server, _model):
        arch = await server.start(say("one"), identity="arch")
        await server.kill_core()
        answered = structured(await server.run("codex-reply", {"prompt": say("two"), "codex_id": arch["codex_id"]}))
        assert (answered["content"], answered["threadId"]) == ("two", arch["threadId"])
        (warning,) = answered["warnings"]
        assert warning == (
            "Since the last turn, Codex has ended: Codex ended unexpectedly (signal SIGKILL). "
            "The thread goes on in a new Codex."
        )
        again = await server.reply("arch", say("three"))
        assert "warnings" not in again, "it is told once"
