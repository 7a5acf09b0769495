"""An agent whose conversation is gone continues in a new one, and its caller is told, in text and for programs."""

import os
import shutil
import signal

import pytest

from tests.support.damage import DAMAGES, damage, rollout
from tests.support.processes import all_ended
from tests.support.servers.mcp_server import Json
from tests.support.team.fixtures import Team
from tests.support.team.scenes import TEAM_SCRIPT, gate, heard
from tests.support.team.team_server import TeamServer, say, structured


async def end_and_lose_conversations(server: TeamServer, *, killed: bool) -> None:
    """End the server, and remove what Codex wrote of its conversations."""
    os.kill(server.process.pid, signal.SIGKILL if killed else signal.SIGTERM)
    await server.exit_code()
    await all_ended(server.setup.home)
    shutil.rmtree(server.setup.codex_home / "sessions")


def text_of(result: Json) -> str:
    """What the result says in words."""
    return str(result["content"][0]["text"])


@pytest.mark.parametrize("killed", [True, False], ids=["without a summary", "with a summary"])
async def test_the_caller_is_told_once_that_an_agent_lost_its_conversation(team: Team, *, killed: bool) -> None:
    async with team(script=TEAM_SCRIPT) as (server, _model):
        arch = await server.start(say("the blue door"), identity="arch")
        await end_and_lose_conversations(server, killed=killed)
    async with team(script=TEAM_SCRIPT) as (server, model):
        result = await server.run("codex", {"codex_id": arch["codex_id"], "prompt": say("on")})
        told = structured(result)
        (warning,) = told["warnings"]
        assert "The earlier conversation of agent arch is lost" in warning
        assert ("only the summary" in warning) == (not killed)
        assert (told["content"], told["codex_id"]) == ("on", arch["codex_id"])
        assert told["threadId"] != arch["threadId"]
        assert text_of(result).startswith(f"Warning: {warning}\n\non\n\ncodex_id: ")
        assert "the blue door" not in heard(model)
        again = await server.run("codex-reply", {"identity": "arch", "prompt": say("and on")})
        assert "warnings" not in structured(again)
        assert text_of(again).startswith("and on\n\ncodex_id: ")


async def test_a_wait_and_an_error_tell_it_as_well(team: Team) -> None:
    async with team(script=TEAM_SCRIPT) as (server, _model):
        for name in ("waits", "fails"):
            await server.start(say("the blue door"), identity=name)
        await end_and_lose_conversations(server, killed=True)
    async with team(script=TEAM_SCRIPT) as (server, model):
        running = await server.reply("waits", gate(), background=True)
        assert "The earlier conversation of agent waits is lost" in running["warnings"][0]
        await model.wait_for_gate("gate")
        model.release("gate")
        collected = await server.run("codex_wait", {"ids": ["waits"]})
        (finished,) = structured(collected)["finished"]
        assert finished["warnings"] == running["warnings"]
        assert finished["warnings"][0] in text_of(collected)
        failed = await server.run("codex-reply", {"identity": "fails", "prompt": "[[scene: fail]]"})
        assert "The earlier conversation of agent fails is lost" in text_of(failed)
        assert failed["isError"] is True


async def test_an_agent_whose_file_has_lost_turns_goes_on_and_everybody_knows(team: Team) -> None:
    threads = {}
    async with team(script=TEAM_SCRIPT) as (server, _model):
        for how in DAMAGES:
            name = how.replace(" ", "-")
            threads[how] = (await server.start(say("the blue door"), identity=name))["threadId"]
            for number in range(3):
                await server.reply(name, say(f"zebra {number}"))
        os.kill(server.process.pid, signal.SIGKILL)
        await server.exit_code()
        await all_ended(server.setup.home)
        for how, thread in threads.items():
            damage(server.setup.codex_home, thread, how)
    async with team(script=TEAM_SCRIPT) as (server, model):
        for how, thread in threads.items():
            told = await server.reply(how.replace(" ", "-"), say("on"))
            (warning,) = told["warnings"]
            assert "missing or damaged in its file" in warning, how
            assert told["threadId"] == thread
            assert "of all earlier turns of this conversation (4), " in heard(model), how
            assert "warnings" not in await server.reply(how.replace(" ", "-"), say("and on")), how


@pytest.mark.parametrize("left", [b"", b"\0garbage" * 100], ids=["nothing", "garbage"])
async def test_an_agent_whose_file_cannot_be_read_gets_a_new_conversation(team: Team, left: bytes) -> None:
    async with team(script=TEAM_SCRIPT) as (server, _model):
        arch = await server.start(say("the blue door"), identity="arch")
        os.kill(server.process.pid, signal.SIGKILL)
        await server.exit_code()
        await all_ended(server.setup.home)
        rollout(server.setup.codex_home, arch["threadId"]).write_bytes(left)
    async with team(script=TEAM_SCRIPT) as (server, _model):
        told = await server.reply("arch", say("on"))
        assert "The earlier conversation of agent arch is lost" in told["warnings"][0]
        assert told["threadId"] != arch["threadId"]
