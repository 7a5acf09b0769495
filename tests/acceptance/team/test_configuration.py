"""Settings and roles: where they come from, and that they reach Codex."""

from collections.abc import Sequence
from pathlib import Path

from codex_mcp.codex.binary import find_codex
from tests.support.core.told import base_prompt, context, developer_instructions, last, repository
from tests.support.requirements import requirement
from tests.support.servers.mcp_server import McpServer, Setup
from tests.support.settings import make_settings
from tests.support.team.fixtures import Team
from tests.support.team.team_server import refusal, say, team_server

WRITES = '[[scene: run cmd="touch made && echo made it"]]'
ESCALATES = '[[scene: escalate cmd="touch escalated"]]'
TRUST = {"CODEX_MCP_TRUST_REPO_SETTINGS": "true"}

REVIEWER = """
[plugins.codex-mcp.roles.reviewer]
model = "gpt-5.4"
reasoning_effort = "high"
sandbox = "read-only"
approval_policy = "never"
instructions = "Review; change nothing."
identity = "reviewer"
"""


def home_file(folder: Path, text: str) -> None:
    """Write the settings of the person at home there."""
    path = folder / "home/.config/atm/config.toml"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


def repo_file(folder: Path, text: str) -> None:
    """Write the settings of the repository in which the server stands."""
    (repository(folder / "work") / ".atm.toml").write_text(text)


def told_to_think(request: dict[str, object]) -> tuple[object, object]:
    """The model of a request, and how hard it thinks."""
    reasoning = request["reasoning"]
    assert isinstance(reasoning, dict)
    return request["model"], reasoning["effort"]


SETTINGS = """
[plugins.codex-mcp]
identity = "worker"
model = "gpt-5.4"
reasoning_effort = "low"
sandbox = "read-only"
approval_policy = "never"
base_prompt_file = "base.md"
extra_instructions_file = "extra.md"
"""


@requirement("FR-12.1")
async def test_settings_of_a_trusted_repository_reach_codex(team: Team, tmp_path: Path) -> None:
    repo_file(tmp_path, SETTINGS)
    (tmp_path / "work/base.md").write_text("You are brief.")
    (tmp_path / "work/extra.md").write_text("Write British English.")
    async with team(environment=TRUST) as (server, model):
        agent = await server.start(WRITES)
        assert agent["identity"] == "worker"
        assert told_to_think(last(model).json) == ("gpt-5.4", "low")
        assert base_prompt(last(model)) == "You are brief."
        assert developer_instructions(last(model)).startswith("Write British English.\n\n<agent-context>")
        assert not (server.setup.work / "made").exists()
        await server.reply("worker", ESCALATES)
        assert not [message for message in server.messages if message.get("method") == "elicitation/create"]
        assert not (server.setup.work / "escalated").exists()


@requirement("FR-12.1")
async def test_the_codex_of_the_settings_is_the_one_that_runs(tmp_path: Path, codex_flags: Sequence[str]) -> None:
    real = codex_flags[-1] if codex_flags else find_codex(make_settings(codex_home="none").core, "").path
    named = tmp_path / "my-codex"
    named.write_text(f'#!/bin/sh\necho "$@" >>"$0.used"\nexec "{real}" "$@"\n')
    named.chmod(0o755)
    home_file(tmp_path, f'[plugins.codex-mcp]\ncodex_bin = "{named}"\n')
    async with team_server(tmp_path) as (server, _model):
        assert (await server.start(say("hi")))["content"] == "hi"
    assert "-server" in named.with_suffix(".used").read_text()


@requirement("FR-12.1")
async def test_a_codex_that_there_is_not_is_named_in_the_answer(tmp_path: Path) -> None:
    home_file(tmp_path, f'[plugins.codex-mcp]\ncodex_bin = "{tmp_path}/no-codex"\n')
    async with McpServer(Setup(tmp_path, command="serve")) as server:
        answer = await server.answer(server.request("initialize"))
        assert f"{tmp_path}/no-codex" in answer["error"]["message"]
        assert await server.exit_code() == 2


@requirement("FR-12.1")
async def test_a_repository_that_is_not_trusted_gives_no_rights_and_this_is_said(team: Team, tmp_path: Path) -> None:
    repo_file(tmp_path, '[plugins.codex-mcp]\nidentity = "worker"\nsandbox = "danger-full-access"\n')
    async with team() as (server, _model):
        agent = await server.start(WRITES)
        assert agent["identity"] == "worker"
        assert not (server.setup.work / "made").exists()
        assert "sets sandbox, which is ignored" in server.log


@requirement("FR-12.2")
async def test_a_role_reaches_codex(team: Team, tmp_path: Path) -> None:
    home_file(tmp_path, REVIEWER)
    async with team() as (server, model):
        agent = await server.start(WRITES, role="reviewer")
        assert agent["identity"] == "reviewer"
        assert told_to_think(last(model).json) == ("gpt-5.4", "high")
        assert developer_instructions(last(model)).startswith("Review; change nothing.\n\n<agent-context>")
        assert not (server.setup.work / "made").exists()
        await server.reply("reviewer", ESCALATES)
        assert not [message for message in server.messages if message.get("method") == "elicitation/create"]
        row = (await server.threads())[agent["codex_id"]]
        assert row["role"] == "reviewer"


@requirement("FR-12.2")
async def test_a_call_goes_over_its_role_and_a_role_over_the_settings(team: Team, tmp_path: Path) -> None:
    home_file(tmp_path, '[plugins.codex-mcp]\nmodel = "gpt-5.4-mini"\nsandbox = "workspace-write"\n' + REVIEWER)
    async with team("--reasoning-effort", "low") as (server, model):
        await server.start(say("hi"), identity="plain")
        assert told_to_think(last(model).json) == ("gpt-5.4-mini", "low")
        own = {"model": "gpt-5.4-mini", "sandbox": "workspace-write", "config": {"model_reasoning_effort": "medium"}}
        named = await server.start(WRITES, identity="mine", role="reviewer", **own)
        assert told_to_think(last(model).json) == ("gpt-5.4-mini", "medium")
        assert named["identity"] == "mine"
        assert (server.setup.work / "made").exists()
        said = {"developer-instructions": "Mine come first."}
        await server.start(say("hi"), identity="third", role="reviewer", **said)
        told = developer_instructions(last(model))
        assert told.startswith("Mine come first.\n\nReview; change nothing.\n\n<agent-context>")


@requirement("FR-12.2")
async def test_a_role_that_there_is_not_is_refused_with_those_that_there_are(team: Team, tmp_path: Path) -> None:
    home_file(tmp_path, REVIEWER)
    async with team() as (server, model):
        answer = refusal(await server.run("codex", {"prompt": say("hi"), "role": "reviwer"}))
        assert "no role 'reviwer'" in answer
        assert "known: reviewer" in answer
        assert not model.requests


@requirement("FR-12.2")
async def test_a_resumed_agent_still_has_its_role(team: Team, tmp_path: Path) -> None:
    home_file(tmp_path, REVIEWER)
    async with team() as (server, _model):
        agent = await server.start(say("hi"), role="reviewer")
    home_file(tmp_path, "")
    async with team() as (server, model):
        await server.start(WRITES, codex_id=agent["codex_id"])
        assert told_to_think(last(model).json) == ("gpt-5.4", "high")
        assert not (server.setup.work / "made").exists()
        assert (await server.threads())[agent["codex_id"]]["role"] == "reviewer"


@requirement("FR-12.3")
async def test_the_nearer_place_of_a_setting_wins(team: Team, tmp_path: Path) -> None:
    home_file(tmp_path, '[plugins.codex-mcp]\nteam = "home"\ndefault_identity = "home"\nreasoning_effort = "low"\n')
    repo_file(tmp_path, '[plugins.codex-mcp]\nteam = "repo"\ndefault_identity = "repo"\n')
    async with team() as (server, model):
        await server.start(say("hi"))
        assert (context(last(model))["team"], context(last(model))["your name"]) == ("repo", "repo")
        assert told_to_think(last(model).json)[1] == "low"
    environment = {"ATM_TEAM": "env", "CODEX_MCP_DEFAULT_IDENTITY": "env"}
    async with team("--identity", "flag", environment=environment) as (server, model):
        await server.start(say("hi"))
        assert (context(last(model))["team"], context(last(model))["your name"]) == ("env", "flag")


@requirement("FR-12.3", "NFR-4")
async def test_the_files_of_atm_are_understood(team: Team, tmp_path: Path) -> None:
    """Its team, its folder, and the table of an earlier program."""
    elsewhere = tmp_path / "atm"
    (elsewhere / ".config/atm").mkdir(parents=True)
    text = '[core]\ndefault_team = "blue"\n\n[plugins.atm-agent-mcp]\nidentity = "old-name"\n'
    (elsewhere / ".config/atm/config.toml").write_text(text)
    async with team(environment={"ATM_HOME": str(elsewhere)}) as (server, model):
        await server.start(say("hi"))
        assert (context(last(model))["team"], context(last(model))["your name"]) == ("blue", "old-name")
    assert (elsewhere / ".config/atm/codex-sessions/registry.json").exists()
    assert not server.state_dir.exists()


@requirement("FR-12.3")
async def test_a_flag_goes_over_everything_for_the_turns_as_well(team: Team, tmp_path: Path) -> None:
    home_file(tmp_path, '[plugins.codex-mcp]\nmodel = "gpt-5.4"\nsandbox = "workspace-write"\n')
    async with team("--model", "gpt-5.5", environment={"CODEX_MCP_SANDBOX": "read-only"}) as (server, model):
        await server.start(WRITES)
        assert last(model).json["model"] == "gpt-5.5"
        assert not (server.setup.work / "made").exists()
