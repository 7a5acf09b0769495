"""What an old Codex does with prompts that steer, interrupt, roll back or copy: it says what it cannot do."""

import pytest

from tests.judges.test_team_on_old_codex import codex_flags
from tests.support.team.fixtures import Team, team
from tests.support.team.scenes import TEAM_SCRIPT, gate
from tests.support.team.team_server import refusal, say, structured

__all__ = ["codex_flags", "team"]


async def test_a_turn_is_interrupted_but_not_steered(team: Team) -> None:
    async with team(script=TEAM_SCRIPT) as (server, model):
        first = server.call("codex", {"prompt": gate(), "identity": "arch"})
        await model.wait_for_gate("gate")
        text = refusal(await server.run("codex-reply", {"identity": "arch", "prompt": say("left"), "when": "steer"}))
        assert "takes no input while a turn runs" in text
        assert "`when: interrupt`" in text
        told = await server.reply("arch", say("now"), when="interrupt")
        assert told["content"] == "now"
        assert structured(await server.result(first))["status"] == "interrupted"
        assert structured(await server.run("codex_interrupt", {"id": "arch"}))["status"] == "idle"
        assert (await server.reply("arch", say("idle"), when="steer"))["content"] == "idle"


@pytest.mark.parametrize(
    ("tool", "arguments", "says"),
    [
        ("codex-reply", {"identity": "arch", "prompt": "x", "rollback": 1}, "knows no rollback"),
        ("codex", {"fork_from": "arch", "prompt": "x"}, "cannot fork a conversation"),
        ("codex_review", {"target": "custom", "of": "names"}, "knows no reviews"),
    ],
)
async def test_what_it_cannot_do_is_refused(team: Team, tool: str, arguments: dict[str, object], says: str) -> None:
    async with team(script=TEAM_SCRIPT) as (server, _model):
        await server.start(say("hi"), identity="arch")
        assert says in refusal(await server.run(tool, arguments))
        assert (await server.reply("arch", say("still here")))["content"] == "still here"
