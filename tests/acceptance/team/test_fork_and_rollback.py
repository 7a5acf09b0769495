"""A copy of an agent begins with its conversation, and a reply can drop the last turns of one."""

import pytest

from tests.support.servers.mcp_server import Json
from tests.support.team.fixtures import Team
from tests.support.team.scenes import TEAM_SCRIPT, gate, heard
from tests.support.team.team_server import refusal, say, structured


@pytest.mark.parametrize("state", ["idle", "closed", "stale"])
async def test_a_copy_knows_the_conversation_and_has_a_name_of_its_own(team: Team, state: str) -> None:
    async with team(script=TEAM_SCRIPT) as (server, model):
        source = await server.start(say("the secret is 42"), identity="arch", sandbox="workspace-write")
        if state == "closed":
            await server.close_agent("arch")
        if state != "stale":
            copy = await server.start(say("copied"), fork_from=source["codex_id"], identity="twin")
            assert (copy["content"], copy["identity"]) == ("copied", "twin")
            assert copy["codex_id"] != source["codex_id"]
            assert copy["threadId"] != source["threadId"]
            told = heard(model)
            assert "the secret is 42" in told
            assert 'your name: "twin"' in told
            rows = await server.threads()
            assert rows[copy["codex_id"]]["cwd"] == rows[source["codex_id"]]["cwd"]
            written = await server.reply("twin", '[[scene: run cmd="touch made.txt && echo did"]]')
            assert "did" in written["content"]  # the sandbox of its source
            if state == "idle":
                assert (await server.reply("arch", say("unharmed")))["content"] == "unharmed"
                assert "copied" not in heard(model)
            return
        server.process.kill()
        await server.exit_code()
    async with team(script=TEAM_SCRIPT) as (server, model):
        copy = await server.start(say("copied"), fork_from=source["codex_id"])
        assert "the secret is 42" in heard(model)
        rows = await server.threads()
        assert (rows[source["codex_id"]]["status"], rows[copy["codex_id"]]["status"]) == ("stale", "active")
        assert (await server.reply(copy["codex_id"], say("again")))["content"] == "again"


@pytest.mark.parametrize("name", ["codex_id", "identity", "threadId"])
async def test_a_busy_agent_is_copied_without_the_turn_that_runs(team: Team, name: str) -> None:
    async with team(script=TEAM_SCRIPT) as (server, model):
        source = await server.start(say("the secret is 42"), identity="arch")
        await server.reply("arch", gate(), background=True)
        await model.wait_for_gate("gate")
        copy = await server.start(say("copied"), fork_from=source[name])
        assert (copy["content"], copy["identity"]) == ("copied", "arch-2")
        assert "the secret is 42" in heard(model)
        assert gate() not in heard(model)
        model.release("gate")
        (turn,) = structured(await server.run("codex_wait", {"ids": ["arch"]}))["finished"]
        assert turn["content"] == "The gate is open."


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ({"fork_from": "stranger", "prompt": "x"}, "No agent stranger"),
        ({"fork_from": "arch"}, "missing field `prompt`"),
        ({"fork_from": "arch", "prompt": "x", "role": "r", "profile": "p"}, "leave out `profile`, `role`"),
        ({"fork_from": "arch", "codex_id": "arch"}, "leave out `fork_from`"),
        ({"fork_from": "arch", "prompt": "x", "identity": "arch"}, 'identity "arch" is taken'),
    ],
)
async def test_a_copy_that_cannot_be_is_refused_and_leaves_nothing(team: Team, arguments: Json, says: str) -> None:
    async with team(script=TEAM_SCRIPT) as (server, _model):
        await server.start(say("hi"), identity="arch")
        assert says in refusal(await server.run("codex", arguments))
        assert len(await server.threads()) == 1


async def test_a_reply_drops_the_last_turns_and_says_that_files_stay(team: Team) -> None:
    async with team(script=TEAM_SCRIPT) as (server, model):
        await server.start(say("one"), identity="arch", sandbox="workspace-write")
        await server.reply("arch", '[[scene: run cmd="touch made.txt"]]')
        await server.reply("arch", say("three"))
        told = await server.reply("arch", say("four"), rollback=2)
        assert (told["content"], told["usage"]["totalTokens"]) == ("four", 120)
        assert (await server.threads())[told["codex_id"]]["tokens"] == 5 * 120  # the one with a command asks twice
        assert told["warnings"] == ["Dropped from the conversation: the last 2 turns. Files are not rolled back."]
        kept = heard(model)
        assert (say("one") in kept, "made.txt" in kept, say("three") in kept) == (True, False, False)
        assert (server.setup.work / "made.txt").exists()
    async with team(script=TEAM_SCRIPT) as (server, model):  # and after a restart
        again = await server.start_with({"codex_id": told["codex_id"], "prompt": say("five")})
        assert again["content"] == "five"
        assert say("three") not in heard(model)
        last = await server.reply("arch", say("six"), rollback=1)
        assert last["warnings"] == ["Dropped from the conversation: the last turn. Files are not rolled back."]
        assert say("five") not in heard(model)


async def test_more_turns_than_there_are_cannot_be_dropped(team: Team) -> None:
    async with team(script=TEAM_SCRIPT) as (server, model):
        await server.start(say("one"), identity="arch")
        await server.reply("arch", say("two"))
        told = await server.reply("arch", say("three"), rollback=3)
        assert told["status"] == "failed"
        assert "has only 2 turns, so 3 cannot be dropped; nothing was changed" in told["content"]
        assert (await server.reply("arch", say("four")))["content"] == "four"
        assert say("two") in heard(model)


async def test_a_rollback_of_a_busy_agent_waits_for_its_turn_or_stops_the_one_that_runs(team: Team) -> None:
    async with team(script=TEAM_SCRIPT) as (server, model):
        await server.start(say("one"), identity="arch")
        await server.reply("arch", gate(), background=True)
        await model.wait_for_gate("gate")
        waiting = server.call("codex-reply", {"identity": "arch", "prompt": say("two"), "rollback": 1})
        model.release("gate")
        assert structured(await server.result(waiting))["content"] == "two"
        assert gate() not in heard(model)
        model.shut("gate")
        await server.reply("arch", gate(), background=True)
        await model.wait_for_gate("gate")
        told = await server.reply("arch", say("three"), rollback=1, when="interrupt")
        assert told["content"] == "three"
        assert gate() not in heard(model)
        text = refusal(
            await server.run("codex-reply", {"identity": "arch", "prompt": "x", "rollback": 1, "when": "steer"})
        )
        assert "`rollback` needs a turn of its own" in text
