"""A turn that takes too long is stopped: its caller hears what there is, and the agent can be used again."""

from pathlib import Path

import pytest

from tests.support.requirements import requirement
from tests.support.team.fixtures import Team
from tests.support.team.scenes import TEAM_SCRIPT, gate, state_of
from tests.support.team.team_server import TeamServer, refusal, say

SECONDS = "8"
"""Long enough for a whole turn on a busy machine."""


async def is_stopped_and_usable(server: TeamServer) -> None:
    """Its turn is stopped with what it said so far, and the next one works."""
    started = await server.start(say("ready"), identity="arch")
    result = await server.run("codex-reply", {"prompt": gate(), "identity": "arch"})
    assert f"stopped after {SECONDS} seconds, which is its time limit." in refusal(result)
    assert "Half of it." in refusal(result)
    assert started["codex_id"] in refusal(result)
    assert await state_of(server, started["codex_id"]) == ("active", "idle")
    assert (await server.reply("arch", say("usable again")))["content"] == "usable again"
    await server.until(lambda: outcomes(server) == ["ok", "timed_out", "ok"])


def outcomes(server: TeamServer) -> list[str]:
    """Of what its agents did, in order."""
    return [entry["outcome"] for entry in server.audit() if "identity" in entry]


@requirement("FR-14.1", "FR-14.2", "FR-14.3", "NFR-5")
async def test_by_a_flag(team: Team) -> None:
    async with team("--timeout", SECONDS, script=TEAM_SCRIPT) as (server, _model):
        await is_stopped_and_usable(server)
        (line,) = [line for line in server.log.splitlines() if " timed out after " in line]
        assert " WARNING " in line


@requirement("FR-14.2")
async def test_what_the_agent_has_begun_to_say_is_part_of_the_answer(team: Team) -> None:
    async with team("--timeout", SECONDS, script=TEAM_SCRIPT) as (server, _model):
        result = await server.run("codex", {"prompt": "[[scene: unfinished]]", "identity": "arch"})
        assert "which is its time limit. Its unfinished message: Half of a sentence" in refusal(result)
        assert "which is its time limit." in server.log
        assert "Half of a sentence" not in server.log


@requirement("FR-14.3")
@pytest.mark.parametrize("place", ["work/.atm.toml", "home/.config/atm/config.toml"])
async def test_by_a_setting(team: Team, tmp_path: Path, place: str) -> None:
    file = tmp_path / place
    file.parent.mkdir(parents=True)
    file.write_text(f"[plugins.codex-mcp]\nrequest_timeout_secs = {SECONDS}\n")
    async with team(script=TEAM_SCRIPT) as (server, _model):
        await is_stopped_and_usable(server)
