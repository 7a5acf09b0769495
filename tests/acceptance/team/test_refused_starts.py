"""A start or a resume that is refused leaves nothing behind: no agent, no name that is taken, no slot that is used."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from codex_mcp.scripted_model.server import ScriptedModel
from tests.support.servers.mcp_server import Json
from tests.support.team.fixtures import Team
from tests.support.team.scenes import TEAM_SCRIPT
from tests.support.team.team_server import TeamServer, refusal, say

SLOTS = 2
ATTEMPTS = SLOTS + 2
"""More refused starts than there are slots."""


@asynccontextmanager
async def small_team(team: Team, *flags: str) -> AsyncIterator[tuple[TeamServer, ScriptedModel]]:
    """A server with few slots."""
    async with team("--max-concurrent-threads", str(SLOTS), *flags, script=TEAM_SCRIPT) as (server, model):
        yield server, model


async def assert_nobody_is_left(server: TeamServer, *expected: str) -> None:
    """Only these agents are known, here, in the registry and in the list of names."""
    assert {each["identity"] for each in (await server.threads()).values()} == set(expected)
    assert {each["identity"] for each in server.registry().values()} == set(expected)
    status = await server.status()
    assert status["threads"]["active"] == len(status["identities"]) == 0


REFUSED: dict[str, Json] = {
    "a missing image": {"images": ["missing.png"]},
    "an image that is a folder": {"images": ["."]},
    "a model provider that Codex does not know": {"config": {"model_provider": "missing"}},
    "a role that does not exist": {"role": "missing"},
    "a profile that does not exist": {"profile": "missing"},
    "a folder that does not exist": {"cwd": "missing"},
    "an environment that does not exist": {"environment": "missing"},
    "a sandbox that does not exist": {"config": {"sandbox_mode": "missing"}},
}


@pytest.mark.parametrize("broken", REFUSED.values(), ids=REFUSED)
async def test_a_start_with_a_bad_argument_leaves_nothing_and_the_corrected_one_works(team: Team, broken: Json) -> None:
    async with small_team(team) as (server, model):
        for _ in range(ATTEMPTS):
            refusal(await server.run("codex", {"prompt": say("hi"), "identity": "arch", **broken}))
        assert not model.requests
        await server.status()  # which opens the state folder, should nothing have done so before
        assert await server.threads() == {}
        assert (await server.status())["threads"]["active"] == 0
        for identity in ("arch", "dev"):
            assert (await server.start(say("now"), identity=identity))["identity"] == identity


async def test_starts_that_the_token_limit_of_the_team_refuses_use_no_slot(team: Team) -> None:
    async with small_team(team) as (server, _model):
        await server.start(say("spends tokens"), identity="first")
    async with small_team(team, "--tokens-per-team", "1") as (server, model):
        for _ in range(ATTEMPTS):
            told = refusal(await server.run("codex", {"prompt": say("hi"), "identity": "arch"}))
            assert "tokens_per_team" in told
        assert not model.requests
        await assert_nobody_is_left(server, "first")
    async with small_team(team) as (server, _model):
        assert (await server.start(say("now"), identity="arch"))["content"] == "now"


@pytest.mark.parametrize(
    ("flags", "arguments"),
    [
        (("--tokens-per-team", "1"), {}),
        (("--tokens-per-thread", "1"), {}),
        (("--turns-per-hour", "1"), {}),
        ((), {"images": ["missing.png"]}),
    ],
)
@pytest.mark.parametrize("closed", [True, False], ids=["closed", "stale"])
async def test_an_agent_whose_resume_is_refused_is_again_what_it_was(
    team: Team, flags: tuple[str, ...], arguments: Json, *, closed: bool
) -> None:
    async with small_team(team) as (server, _model):
        ids = [(await server.start(say("spends tokens"), identity=name))["codex_id"] for name in ("arch", "dev")]
        if not closed:
            await server.until(lambda: all(each["tokens"] for each in server.registry().values()))
            server.process.kill()
            await server.exit_code()
    before = "closed" if closed else "stale"
    async with small_team(team, *flags) as (server, model):
        for codex_id in ids * 2:
            refusal(await server.run("codex", {"prompt": say("hi"), "codex_id": codex_id, **arguments}))
        assert not model.requests
        assert {each["status"] for each in (await server.threads()).values()} == {before}
        await assert_nobody_is_left(server, "arch", "dev")
        assert {each["status"] for each in server.registry().values()} == {before}
    async with small_team(team) as (server, _model):
        back = await server.start(say("back"), codex_id=ids[0])
        assert (back["content"], back["identity"]) == ("back", "arch")


async def test_a_reply_that_is_refused_leaves_an_active_agent_as_it_is(team: Team) -> None:
    async with small_team(team) as (server, _model):
        arch = await server.start(say("one"), identity="arch")
        refusal(await server.run("codex-reply", {"prompt": say("two"), "identity": "arch", "images": ["missing.png"]}))
        assert (await server.status())["identities"] == {"arch": arch["codex_id"]}
        assert (await server.reply("arch", say("three")))["content"] == "three"


async def test_a_refused_start_frees_its_request_id(team: Team, tmp_path: Path) -> None:
    async with small_team(team) as (server, model):
        start = {"prompt": say("hi"), "identity": "arch", "request_id": "r-1", "images": ["late.png"]}
        refusal(await server.run("codex", start))
        (tmp_path / "work/late.png").write_bytes(b"\x89PNG\r\n\x1a\n")
        assert (await server.start_with({**start, "images": []}))["content"] == "hi"
        assert len(model.requests) == 1
