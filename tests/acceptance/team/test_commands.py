"""What a person types: `codex-mcp serve` and its flags, and the commands that look at a team."""

import json
import subprocess
import sys
from pathlib import Path

from tests.support.core.told import context, git, last, newest_prompt, repository
from tests.support.patience import PATIENCE
from tests.support.requirements import requirement
from tests.support.servers.mcp_server import Json, Setup
from tests.support.team.fixtures import Team
from tests.support.team.team_server import GATE, say

NOT_FOUND = 3

REVIEWER = '[plugins.codex-mcp.roles.reviewer]\nmodel = "gpt-5.5"\ninstructions = "Review."\n'


def command(setup: Setup, *words: str, **environ: str) -> subprocess.CompletedProcess[str]:
    """Run a command to its end, where the server stands."""
    argv = [sys.executable, "-m", "codex_mcp", *words]
    return subprocess.run(
        argv,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        env={**setup.env(), **environ},
        cwd=setup.work,
        timeout=PATIENCE,
        check=False,
    )


def asked(setup: Setup, *words: str, **environ: str) -> Json:
    """What a command says to programs."""
    done = command(setup, *words, "--json", **environ)
    assert (done.returncode, done.stderr) == (0, "")
    answer: Json = json.loads(done.stdout)
    return answer


def names(answer: Json, key: str = "threads") -> set[str]:
    """The agents in an answer."""
    return {entry["identity"] for entry in answer[key]}


@requirement("FR-13.1")
async def test_serve_speaks_mcp_and_nothing_else_on_stdout_until_stdin_ends(team: Team) -> None:
    async with team() as (server, _model):
        await server.start(say("hi"))
        server.close_stdin()
        assert await server.exit_code() == 0
        assert all(message["jsonrpc"] == "2.0" for message in server.messages)


@requirement("FR-13.1")
def test_serve_tells_its_flags(tmp_path: Path) -> None:
    setup = Setup(tmp_path)
    setup.make()
    told = command(setup, "serve", "--help")
    assert told.returncode == 0
    for flag in ("--team", "--identity", "--role", "--resume", "--timeout", "--state-dir", "--port"):
        assert flag in told.stdout
    wrong = command(setup, "serve", "--no-such-flag")
    assert wrong.returncode == 2
    assert "--no-such-flag" in wrong.stderr.splitlines()[-1]


@requirement("FR-13.2")
async def test_serve_takes_a_name_and_a_role_for_agents_that_are_given_none(team: Team, tmp_path: Path) -> None:
    path = tmp_path / "home/.config/atm/config.toml"
    path.parent.mkdir(parents=True)
    path.write_text(REVIEWER)
    async with team("--identity", "worker", "--role", "reviewer") as (server, model):
        agent = await server.start(say("hi"))
        assert (await server.threads())[agent["codex_id"]]["role"] == "reviewer"
        assert context(last(model))["your name"] == "worker"
        assert last(model).json["model"] == "gpt-5.5"


@requirement("FR-13.2")
def test_serve_does_not_start_with_a_name_or_a_role_that_cannot_be(tmp_path: Path) -> None:
    setup = Setup(tmp_path)
    setup.make()
    for flags, said in {("--identity", "No Name"): "a name of a-z", ("--role", "reviwer"): "a role that"}.items():
        done = command(setup, "serve", *flags)
        assert (done.returncode, done.stdout) == (2, "")
        assert said in done.stderr
        assert flags[1] in done.stderr


async def two_closed_agents(team: Team) -> tuple[Json, Json]:
    """Two agents of a server that has ended."""
    async with team() as (server, _model):
        one = await server.start(say("I am one."), identity="one")
        two = await server.start(say("I am two."), identity="two")
    return one, two


@requirement("FR-13.3")
async def test_serve_resumes_the_last_agent_of_the_default_name(team: Team) -> None:
    await two_closed_agents(team)
    async with team("--identity", "two") as (server, _model):
        later = await server.start(say("I am two as well."))
    async with team("--identity", "two", "--resume") as (server, _model):
        assert (await server.start(say("again")))["codex_id"] == later["codex_id"]
        assert (await server.start(say("new")))["identity"] == "two-2"


@requirement("FR-13.3")
async def test_serve_resumes_an_agent_by_any_of_its_names(team: Team) -> None:
    one, _ = await two_closed_agents(team)
    for name in (one["threadId"], one["codex_id"], "one"):
        async with team("--resume", name) as (server, _model):
            assert (await server.start(say("again")))["codex_id"] == one["codex_id"]


@requirement("FR-13.4")
def test_config_shows_every_setting_and_where_it_came_from(tmp_path: Path) -> None:
    setup = Setup(tmp_path)
    setup.make()
    repository(setup.work)
    (setup.work / ".atm.toml").write_text('[plugins.codex-mcp]\nteam = "red"\n')
    flags = ("--identity", "worker", "--show-origin")
    told = command(setup, "config", *flags, CODEX_MCP_MODEL="gpt-5.5")
    lines = {line.split(" = ")[0]: line for line in told.stdout.splitlines() if " = " in line}
    assert '"red"' in lines["team"]
    assert ".atm.toml:2" in lines["team"]
    assert "--identity" in lines["default_identity"]
    assert "CODEX_MCP_MODEL" in lines["model"]
    assert "default" in lines["max_concurrent_threads"]
    programs = asked(setup, "config", CODEX_MCP_MODEL="gpt-5.5")
    assert programs["settings"]["team"]["value"] == "red"


@requirement("FR-13.4", "FR-12.3")
def test_config_follows_a_setting_from_the_flag_down_to_the_default(tmp_path: Path) -> None:
    setup = Setup(tmp_path)
    setup.make()
    repository(setup.work)
    home = setup.home / ".config/atm/config.toml"
    home.parent.mkdir(parents=True)
    home.write_text('[plugins.codex-mcp]\nteam = "home"\n')
    (setup.work / ".atm.toml").write_text('[plugins.codex-mcp]\nteam = "repo"\n')

    def team(*flags: str, **environ: str) -> object:
        return asked(setup, "config", *flags, **environ)["settings"]["team"]["value"]

    assert team("--team", "flag", CODEX_MCP_TEAM="env") == "flag"
    assert team(CODEX_MCP_TEAM="env") == "env"
    assert team() == "repo"
    (setup.work / ".atm.toml").unlink()
    assert team() == "home"
    home.unlink()
    assert team() == "default"


@requirement("FR-13.5")
async def test_threads_lists_agents_by_repository_and_by_name(team: Team, tmp_path: Path) -> None:
    git(repository(tmp_path / "shop"), "remote", "add", "origin", "git@example.com:people/shop.git")
    async with team() as (server, _model):
        setup = server.setup
        shop = await server.start(say("hi"), identity="arch", cwd=str(tmp_path / "shop"))
        await server.start(say("hi"), identity="dev")
        assert names(asked(setup, "threads")) == {"arch", "dev"}
        assert names(asked(setup, "threads", "--repo", "shop")) == {"arch"}
        assert names(asked(setup, "threads", "--repo", str(tmp_path / "shop"))) == {"arch"}
        assert names(asked(setup, "threads", "--identity", "dev")) == {"dev"}
        listed = command(setup, "threads").stdout
        assert shop["codex_id"] in listed
        assert "shop" in listed
        await server.close_agent("arch")
        assert names(asked(setup, "threads")) == {"dev"}
        assert names(asked(setup, "threads", "--all")) == {"arch", "dev"}


@requirement("FR-13.5")
async def test_threads_forgets_whom_nobody_runs_and_nobody_else(team: Team) -> None:
    async with team() as (server, _model):
        setup = server.setup
        await server.start(say("hi"), identity="arch")
        await server.start(say("hi"), identity="dev")
        await server.close_agent("arch")
        assert names(asked(setup, "threads", "--prune"), "removed") == set()
        assert names(asked(setup, "threads", "--prune", "--older-than", "0"), "removed") == {"arch"}
        assert names(asked(setup, "threads", "--all")) == {"dev"}
        assert (await server.reply("dev", say("I am still here.")))["content"] == "I am still here."


@requirement("FR-13.6")
async def test_summary_shows_what_an_agent_said_of_its_work(team: Team) -> None:
    async with team() as (server, model):
        setup = server.setup
        agent = await server.start(GATE, identity="arch", background=True)
        await model.wait_for_gate("gate")
        nothing = command(setup, "summary", agent["codex_id"])
        assert (nothing.returncode, nothing.stdout) == (NOT_FOUND, "")
        assert agent["codex_id"] in nothing.stderr
        assert (await server.close_agent("arch"))["status"] == "closed"
        said = (server.state_dir / "arch" / agent["threadId"] / "summary.md").read_text().strip()
        assert newest_prompt(last(model)).strip() in said  # the scripted model repeats what it was asked
        shown = command(setup, "summary", agent["codex_id"])
        assert (shown.returncode, shown.stderr) == (0, "")
        assert shown.stdout.strip() == said
        assert asked(setup, "summary", "arch")["text"].strip() == said
