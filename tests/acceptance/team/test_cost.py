"""Tokens, money and limits in results, lists and the status, on the real core."""

import json
import time
from pathlib import Path

import pytest

from codex_mcp.base.blocking import in_thread
from tests.support.servers.commands import command
from tests.support.servers.mcp_server import scripted_server
from tests.support.team.fixtures import Team
from tests.support.team.team_server import structured

PRICES = ("--prices", "gpt-5.5=10/1/100")
TURN = (5_000 * 10 + 5_000 * 1 + 200 * 100) / 1e6


RESET = int(time.time()) + 7200
HEADERS = f'{{ x-codex-primary-used-percent = "100", x-codex-primary-reset-at = "{RESET}" }}'


@pytest.fixture
def script(tmp_path: Path) -> Path:
    path = tmp_path / "costs.toml"
    path.write_text(f"""
[scenes.work]
usage = {{ input = 10000, cached = 5000, output = 200 }}
steps = [{{ say = "done" }}]

[scenes.near]
steps = [{{ say = "done" }}]

[scenes.near.headers]
x-codex-primary-used-percent = "91"
x-codex-primary-window-minutes = "300"
x-codex-primary-reset-at = "{int(time.time()) + 3600}"

[scenes.wall]
steps = [{{ fail = 429, body = '{{"error": {{"type": "usage_limit_reached", "message": ""}}}}', headers = {HEADERS} }}]

[scenes.wall_of_helper]
steps = [
    {{ call = "spawn_agent", namespace = "multi_agent_v1", arguments = {{ message = "[[scene: wall]]" }} }},
    {{ say = "A helper works." }},
]

[scenes.quota]
steps = [{{ fail = 429, body = '{{"error": {{"type": "insufficient_quota", "message": "no"}}}}' }}]
""")
    return path


def work(scene: str = "work") -> str:
    return f"[[scene: {scene}]]"


async def test_what_turns_agents_and_the_team_cost_is_told_if_prices_are_set(team: Team, script: Path) -> None:
    async with team(*PRICES, script=script) as (server, _model):
        first = await server.start(work(), identity="arch")
        assert first["cost"] == pytest.approx(TURN)
        assert first["usage"]["totalTokens"] == 10_200
        await server.reply("arch", work())
        await server.start(work(), identity="dev")
        await server.close_agent("dev")
        rows = (await server.run("codex_threads", {}))["structuredContent"]["threads"]
        assert {row["identity"]: row["cost"] for row in rows} == pytest.approx({"arch": 2 * TURN, "dev": TURN})
        assert (await server.status())["usage"] == {"tokens": 3 * 10_200, "cost": pytest.approx(3 * TURN)}
    async with team(*PRICES, script=script) as (server, _model):
        before = (await server.status())["usage"]["cost"]
        assert before >= 3 * TURN  # the summary of arch has cost something, too
        assert (await server.start(work(), codex_id=first["codex_id"]))["cost"] == pytest.approx(TURN)
        assert (await server.status())["usage"]["cost"] == pytest.approx(before + TURN)


async def test_without_prices_only_tokens_are_told(team: Team, script: Path) -> None:
    async with team("--prices", "another-model=1/1/1", script=script) as (server, _model):
        assert "cost" not in await server.start(work(), identity="arch")
        assert (await server.status())["usage"] == {"tokens": 10_200}


@pytest.mark.parametrize(
    ("flags", "told"),
    [
        (("--tokens-per-thread", "12000"), "This agent has used 10200 of 12000 tokens (tokens_per_thread)."),
        (("--tokens-per-team", "12000"), "The team has used 10200 of 12000 tokens (tokens_per_team)."),
        (("--turns-per-hour", "1"), "In the last hour, this agent has begun 1 of 1 turns (turns_per_hour)."),
        (("--tokens-per-thread", "20000", "--turns-per-hour", "2"), None),
    ],
)
async def test_a_result_warns_before_a_limit_pauses_the_agent(
    team: Team, script: Path, flags: tuple[str, ...], told: str | None
) -> None:
    async with team(*flags, script=script) as (server, _model):
        result = await server.run("codex", {"prompt": work(), "identity": "arch"})
        assert result["structuredContent"].get("warnings") == (None if told is None else [told])
        assert (told is None) or f"Warning: {told}" in result["content"][0]["text"]


async def test_rate_limits_of_the_account_are_in_the_status_and_in_a_result_when_they_are_near(
    team: Team, script: Path
) -> None:
    async with team(script=script) as (server, _model):
        assert (await server.status())["rate_limits"] == []
        result = await server.start(work("near"), identity="arch")
        assert result["warnings"] == ["The account has used 91 % of its rate limit per 5 hours; it is reset in 60 min."]
        (limit,) = (await server.status())["rate_limits"]
        assert (limit["used_percent"], limit["window_minutes"]) == (91, 300)


async def test_a_server_without_a_team_tells_the_same(tmp_path: Path, script: Path) -> None:
    async with scripted_server(tmp_path, *PRICES, script=script) as (server, _model):
        await server.initialize()
        done = (await server.run("codex", {"prompt": work()}))["structuredContent"]
        assert done["cost"] == pytest.approx(TURN)
        near = (await server.run("codex", {"prompt": work("near")}))["structuredContent"]
        assert "91 %" in near["warnings"][0]


async def test_an_account_that_has_reached_its_limit_gets_no_request_of_other_agents(team: Team, script: Path) -> None:
    async with team(script=script) as (server, model):
        wall = (await server.run("codex", {"prompt": work("wall"), "identity": "arch"}))["structuredContent"]
        assert (wall["status"], wall["error"]) == ("failed", {"code": "usage_limit", "resets_at": RESET})
        assert (await server.status())["account_paused_until"] == RESET
        told = await in_thread(command, server.setup.home, "doctor", "--json")
        (limit,) = [each for each in json.loads(told.stdout)["checks"] if each["check"] == "agents.account"]
        assert f"server process {server.process.pid} has reached its usage limit, until " in limit["text"]
        before = len(model.requests)
        other = (await server.run("codex", {"prompt": work(), "identity": "dev"}))["structuredContent"]
        assert "the account has reached its usage limit, which ends in 1" in other["content"]
        assert len(model.requests) == before


async def test_nor_after_it_has_refused_a_request_of_a_subagent(team: Team, script: Path) -> None:
    async with team(script=script) as (server, model):
        arch = await server.start(work("wall_of_helper"), identity="arch")
        await model.wait_for_scene("wall")
        while (await server.threads())[arch["codex_id"]]["state"] == "busy":
            pass
        before = len(model.requests)
        other = (await server.run("codex", {"prompt": work(), "identity": "dev"}))["structuredContent"]
        assert other["error"] == {"code": "usage_limit", "resets_at": RESET}
        assert len(model.requests) == before


async def test_if_a_limit_has_no_known_end_a_person_says_when_to_try_and_prompts_may_wait_for_that(
    team: Team, script: Path
) -> None:
    async with team(script=script) as (server, model):
        wall = (await server.run("codex", {"prompt": work("quota"), "identity": "arch"}))["structuredContent"]
        assert (wall["status"], wall["error"]) == ("failed", {"code": "usage_limit"})
        before = len(model.requests)
        refused = await server.start(work(), identity="dev")
        assert (refused["status"], refused["error"]) == ("failed", {"code": "usage_limit"})
        assert "a prompt with `when-limited: try` finds out" in refused["content"]
        assert set((await server.status())["paused"]) == {"arch", "dev"}
        (paused,) = structured(await server.run("codex_wait", {"ids": ["dev"]}))["paused"]
        assert "usage limit" in paused["content"]
        begun = {"identity": "ops", "when-limited": "wait", "background": True}
        assert (await server.start(work(), **begun))["status"] == "running"
        await server.start(work(), **{**begun, "identity": "old"})
        await server.run("codex_interrupt", {"identity": "old"})
        again = await server.reply("arch", work("quota"), **{"when-limited": "try"})
        assert (again["error"], len(model.requests)) == ({"code": "usage_limit"}, before + 1)
        tried = await server.reply("arch", work(), **{"when-limited": "try"})
        (waited,) = structured(await server.run("codex_wait", {"ids": ["ops"]}))["finished"]
        assert (tried["status"], waited["status"]) == ("completed", "completed")
        assert (await server.reply("dev", work()))["status"] == "completed"
        assert len(model.requests) == before + 4
