import argparse
import subprocess
import sys
from pathlib import Path

import pytest

from codex_mcp.base.errors import BadSetting
from codex_mcp.base.settings.groups import SETTINGS
from codex_mcp.base.settings.kinds import ApprovalPolicy, Events, LogLevel, Sandbox
from codex_mcp.config import load
from codex_mcp.config.layers import Sourced
from codex_mcp.config.load import add_arguments
from codex_mcp.team.profile.roles import Role
from tests.support.settings import World, table

ROOT = Path(__file__).parents[2]


def test_with_nothing_said_every_setting_has_its_default(world: World) -> None:
    loaded = world.load()
    assert loaded.settings == world.defaults()
    assert {sourced.source for sourced in loaded.sources.values()} == {"default"}
    assert set(loaded.sources) == set(SETTINGS)
    assert loaded.warnings == ()


def test_the_nearer_one_wins_and_each_value_knows_where_it_came_from(world: World) -> None:
    home = table(world.home_file, 'events = "none"\nstart_timeout = 4\nrequest_timeout = 4\nshutdown_grace = 1')
    repo = table(world.repo_file, 'events = "none"\nstart_timeout = 2\nrequest_timeout = 2')
    loaded = world.load("--events", "full", CODEX_MCP_EVENTS="none", CODEX_MCP_START_TIMEOUT="3")
    assert {
        name: loaded.sources[name] for name in ("events", "start_timeout", "request_timeout", "shutdown_grace")
    } == {
        "events": Sourced(Events.FULL, "--events"),
        "start_timeout": Sourced(3.0, "CODEX_MCP_START_TIMEOUT"),
        "request_timeout": Sourced(2.0, f"{repo}:4"),
        "shutdown_grace": Sourced(1.0, f"{home}:5"),
    }
    assert loaded.settings.calls.events is Events.FULL
    assert loaded.settings.core.request_timeout == 2


def test_codex_home_comes_from_codex_own_variable_after_ours(world: World) -> None:
    theirs, ours = world.home / "theirs", world.home / "ours"
    theirs.mkdir()
    ours.mkdir()
    assert world.load(CODEX_HOME=str(theirs)).sources["codex_home"] == Sourced(str(theirs), "CODEX_HOME")
    loaded = world.load(CODEX_HOME=str(theirs), CODEX_MCP_CODEX_HOME="~/ours")
    assert loaded.sources["codex_home"] == Sourced(str(ours), "CODEX_MCP_CODEX_HOME")


def test_a_codex_home_that_does_not_exist_is_a_slip_of_the_pen(world: World) -> None:
    with pytest.raises(BadSetting, match="from CODEX_HOME: it must be a folder that exists"):
        world.load(CODEX_HOME=str(world.home / "nosuch"))


@pytest.mark.parametrize(
    ("environ", "level", "source"),
    [
        ({"RUST_LOG": "codex_mcp_server=debug,axum=info"}, LogLevel.DEBUG, "RUST_LOG"),
        ({"RUST_LOG": "axum=info"}, None, "default"),
        ({"RUST_LOG": "nonsense"}, None, "default"),
        ({"RUST_LOG": "debug", "CODEX_MCP_LOG": "warn"}, LogLevel.WARNING, "CODEX_MCP_LOG"),
        ({"CODEX_MCP_LOG": "warn", "CODEX_MCP_LOG_LEVEL": "error"}, LogLevel.ERROR, "CODEX_MCP_LOG_LEVEL"),
        ({"CODEX_MCP_LOG": ""}, None, "default"),
    ],
)
def test_the_log_level_comes_from_our_variables_before_rust_log(
    world: World, environ: dict[str, str], level: LogLevel | None, source: str
) -> None:
    assert world.load(**environ).sources["log_level"] == Sourced(level, source)


def test_overrides_add_up_and_the_nearer_ones_come_last(world: World) -> None:
    home = table(world.home_file, 'overrides = ["model=a", "x=1"]')
    loaded = world.load("-c", "model=c", "--config", "y=2", CODEX_MCP_OVERRIDES="model=b\nz=3")
    assert loaded.sources["overrides"] == Sourced(
        ("model=a", "x=1", "model=b", "z=3", "model=c", "y=2"), f"{home}:2, CODEX_MCP_OVERRIDES, --config"
    )


def test_relative_paths_belong_to_where_they_were_written(world: World) -> None:
    table(world.home_file, 'scripted = "play.toml"')
    assert world.load().settings.core.scripted == f"{world.home_file.parent}/play.toml"
    assert world.load("--scripted", "mine.toml").settings.core.scripted == f"{world.cwd}/mine.toml"


def test_the_nearest_file_of_the_repository_counts_and_none_above_it(world: World) -> None:
    table(world.repo.parent / ".atm.toml", 'events = "full"')
    assert world.load().settings.calls.events is None
    table(world.repo_file, 'events = "none"')
    assert world.load().settings.calls.events is Events.NONE
    table(world.cwd / ".atm.toml", "start_timeout = 7")
    assert world.load().settings.core.start_timeout == 7
    assert world.load().settings.calls.events is None


def test_a_work_tree_whose_git_folder_is_elsewhere_is_a_repository_too(world: World) -> None:
    table(world.repo_file, 'events = "none"')
    (world.repo / ".git" / "HEAD").unlink()
    (world.repo / ".git").rmdir()
    (world.repo / ".git").write_text("gitdir: elsewhere\n")
    assert world.load().settings.calls.events is Events.NONE


def test_outside_of_a_repository_only_the_working_folder_is_looked_at(world: World) -> None:
    (world.repo / ".git" / "HEAD").unlink()  # an empty .git is no repository
    table(world.repo_file, 'events = "none"')
    assert world.load().settings.calls.events is None
    table(world.cwd / ".atm.toml", 'events = "none"')
    assert world.load().settings.calls.events is Events.NONE


@pytest.mark.parametrize(
    ("flags", "environ", "sentence"),
    [
        (["--events", "loud"], {}, "cannot use events = 'loud' from --events: it must be one of standard, full, none"),
        (
            [],
            {"CODEX_MCP_SHUTDOWN_GRACE": "soon"},
            "cannot use shutdown_grace = 'soon' from CODEX_MCP_SHUTDOWN_GRACE: ",
        ),
        (["-c", "model"], {}, "cannot use overrides = ['model'] from --config: it must be key=value"),
        (["--log-level", "shout"], {}, "cannot use log_level = 'shout' from --log-level: it must be one of off, error"),
        ([], {"CODEX_MCP_LOG": "shout"}, "cannot use log_level = 'shout' from CODEX_MCP_LOG: it must be one of"),
    ],
)
def test_a_wrong_value_is_one_sentence(world: World, flags: list[str], environ: dict[str, str], sentence: str) -> None:
    with pytest.raises(BadSetting) as caught:
        world.load(*flags, **environ)
    assert str(caught.value).startswith(sentence)


def test_a_secret_in_a_wrong_value_is_not_repeated(world: World) -> None:
    with pytest.raises(BadSetting) as caught:
        world.load("-c", "Authorization: Bearer abcdef")
    assert "abcdef" not in str(caught.value)


def test_the_collector_of_traces_is_also_named_by_its_own_variable_and_never_by_a_repository(world: World) -> None:
    table(world.repo_file, 'otlp_endpoint = "http://example.org:4318"')
    assert world.load().settings.log.otlp_endpoint is None
    named = world.load(OTEL_EXPORTER_OTLP_ENDPOINT="http://127.0.0.1:4318")
    assert named.settings.log.otlp_endpoint == "http://127.0.0.1:4318"


def test_switches_need_no_value(world: World) -> None:
    assert world.load("--allow-untested-codex").settings.core.allow_untested_codex is True


def test_loading_settings_imports_nothing_slow(tmp_path: Path) -> None:
    slow = {"pathlib", "tomllib", "importlib.metadata", "shutil", "ctypes", "logging.handlers", "dataclasses"}
    code = (
        "import argparse, asyncio, msgspec, sys; before = set(sys.modules); from codex_mcp.config import load; "
        f"load.load(argparse.Namespace(), {{'HOME': {str(tmp_path)!r}}}, {str(tmp_path)!r}); "
        f"print(*sorted({slow!r} & (set(sys.modules) - before)))"
    )
    path = {"PYTHONPATH": str(Path(load.__file__).parents[2])}
    said = subprocess.run([sys.executable, "-c", code], env=path, capture_output=True, text=True, check=True).stdout
    assert said.strip() == ""


def test_the_state_folder_is_below_atm_home_if_there_is_one(world: World) -> None:
    assert world.load(ATM_HOME=" ").settings.team.state_dir == f"{world.home}/.config/atm/codex-sessions"
    assert world.load(ATM_HOME=" /elsewhere ").settings.team.state_dir == "/elsewhere/.config/atm/codex-sessions"
    assert world.load("--state-dir", "mine").settings.team.state_dir == f"{world.cwd}/mine"


@pytest.mark.parametrize(
    ("variable", "name", "value"),
    [
        ("ATM_TEAM", "team", "backend"),
        ("ATM_AGENT_MCP_IDENTITY", "default_identity", "me"),
        ("ATM_AGENT_MCP_MODEL", "model", "gpt"),
        ("ATM_AGENT_MCP_SANDBOX", "sandbox", Sandbox.READ_ONLY),
        ("ATM_AGENT_MCP_APPROVAL_POLICY", "approval_policy", ApprovalPolicy.NEVER),
        ("ATM_AGENT_MCP_CODEX_BIN", "codex_bin", "codex"),
        ("ATM_AGENT_MCP_REASONING_EFFORT", "reasoning_effort", "low"),
    ],
)
def test_variables_of_atm_count_after_ours(world: World, variable: str, name: str, value: str) -> None:
    assert world.load(**{variable: value}).sources[name] == Sourced(value, variable)
    ours = f"CODEX_MCP_{name.upper()}"
    assert world.load(**{variable: value, ours: value}).sources[name] == Sourced(value, ours)


def test_the_name_of_the_person_is_not_the_name_of_an_agent(world: World) -> None:
    assert world.load(ATM_IDENTITY="human").settings.team.default_identity == "codex"


def test_only_those_who_want_them_get_the_flags_of_a_team() -> None:
    parser = argparse.ArgumentParser()
    add_arguments(parser)
    assert "--soft-deadline" in parser.format_help()
    assert "--timeout " not in parser.format_help()
    assert "team:" not in parser.format_help()


def test_the_help_begins_with_the_team_and_the_usage_is_one_line() -> None:
    parser = argparse.ArgumentParser(prog="codex-mcp serve")
    add_arguments(parser, with_team=True)
    told = parser.format_help()
    assert told.startswith("usage: codex-mcp serve [-h] [FLAG ...]\n\n")
    assert told.index("--identity") < told.index("--codex-home")


def test_the_file_that_atm_config_names_stands_between_the_repository_and_the_environment(world: World) -> None:
    table(world.repo_file, 'events = "none"\nstart_timeout = 1\nrequest_timeout = 1')
    extra = table(world.cwd / "extra.toml", 'start_timeout = 2\nrequest_timeout = 2\ncodex_bin = "./mine"')
    loaded = world.load(ATM_CONFIG="extra.toml", CODEX_MCP_REQUEST_TIMEOUT="3")
    assert loaded.settings.calls.events is Events.NONE
    assert loaded.sources["start_timeout"] == Sourced(2.0, f"{extra}:2")
    assert loaded.sources["request_timeout"] == Sourced(3.0, "CODEX_MCP_REQUEST_TIMEOUT")
    assert loaded.settings.core.codex_bin == f"{world.cwd}/mine"
    assert world.load(ATM_CONFIG=" ").settings.core.codex_bin is None


def test_a_file_that_atm_config_names_must_be_there(world: World) -> None:
    with pytest.raises(BadSetting, match=r"cannot read nosuch\.toml from ATM_CONFIG: there is no such file"):
        world.load(ATM_CONFIG="nosuch.toml")


def test_atm_home_takes_the_place_of_the_home_for_the_file_too(world: World) -> None:
    table(world.home_file, 'events = "none"')
    elsewhere = world.home / "elsewhere"
    (elsewhere / ".config" / "atm").mkdir(parents=True)
    table(elsewhere / ".config" / "atm" / "config.toml", 'events = "full"')
    assert world.load(ATM_HOME=str(elsewhere)).settings.calls.events is Events.FULL
    assert world.load(ATM_HOME="").settings.calls.events is Events.NONE


def test_roles_come_from_all_files_and_a_repository_gives_its_own_no_rights(world: World) -> None:
    table(world.home_file, '[plugins.codex-mcp.roles.reviewer]\nsandbox = "read-only"\nmodel = "mine"')
    repo = table(
        world.repo_file,
        """[plugins.codex-mcp.roles.reviewer]
instructions = "look closely"
sandbox = "danger-full-access"
[plugins.codex-mcp.roles.writer]
identity = "writer"
model = "dear"
""",
    )
    loaded = world.load("--role", "reviewer")
    assert loaded.roles == {
        "reviewer": Role(sandbox=Sandbox.READ_ONLY, model="mine", instructions="look closely"),
        "writer": Role(identity="writer"),
    }
    assert loaded.sourced_roles["reviewer"].source == f"{world.home_file}:2, {repo}:2"
    assert [str(warning).partition(", which")[0] for warning in loaded.warnings] == [
        f"{repo}:4 sets sandbox of the role reviewer",
        f"{repo}:7 sets model of the role writer",
    ]
    trusting = world.load("--trust-repo-settings").roles
    assert (trusting["writer"].model, trusting["reviewer"].sandbox) == ("dear", Sandbox.DANGER_FULL_ACCESS)


def test_a_role_that_nobody_described_is_a_wrong_value(world: World) -> None:
    with pytest.raises(BadSetting, match=r"cannot use role = 'x' from --role: .* \(known: none\)"):
        world.load("--role", "x")


def test_a_variable_that_is_misspelt_is_a_warning(tmp_path: Path) -> None:
    environment = {
        "HOME": str(tmp_path),
        "CODEX_MCP_SOFT_DEADLIN": "5",
        "CODEX_MCP_WEATHER": "fine",
        "CODEX_MCP_TIMEOUT": "60",
        "CODEX_MCP_TOKEN": "a client's",
    }
    loaded = load.load(argparse.Namespace(), environment, str(tmp_path))
    assert tuple(map(str, loaded.warnings)) == (
        "the environment variable CODEX_MCP_SOFT_DEADLIN has no effect: there is no such setting; "
        "did you mean CODEX_MCP_SOFT_DEADLINE?",
        "the environment variable CODEX_MCP_WEATHER has no effect: there is no such setting; "
        "`codex-mcp config` lists all settings",
    )


def test_of_codex_version_and_its_older_name_the_nearer_one_counts(world: World) -> None:
    table(world.home_file, 'codex_bin = "/old/codex"')
    assert world.load().settings.core.named_codex == "/old/codex"
    assert world.load(CODEX_MCP_CODEX_VERSION="newest").settings.core.named_codex is None
    assert world.load("--codex-version", "/new/codex").settings.core.named_codex == "/new/codex"
    assert world.load("--codex-bin", "/own", CODEX_MCP_CODEX_VERSION="tested").settings.core.named_codex == "/own"
    table(world.home_file, 'codex_bin = "/old/codex"\ncodex_version = "newest"')
    assert world.load().settings.core.named_codex == "/old/codex"


def test_codex_s_home_is_known_even_if_the_settings_cannot_be_loaded() -> None:
    home = {"HOME": "/home/me"}
    assert load.likely_codex_home(None, home) == "/home/me/.codex"
    assert load.likely_codex_home(None, home | {"CODEX_HOME": "/x"}) == "/x"
    assert load.likely_codex_home(None, home | {"CODEX_HOME": "/x", "CODEX_MCP_CODEX_HOME": "/y"}) == "/y"
    assert load.likely_codex_home("/z", home | {"CODEX_MCP_CODEX_HOME": "/y"}) == "/z"


def test_teams_are_where_claude_code_keeps_them() -> None:
    assert load.teams_folder({"HOME": "/home/me"}) == "/home/me/.claude/teams"
    assert load.teams_folder({"HOME": "/home/me", "ATM_HOME": "/elsewhere"}) == "/elsewhere/.claude/teams"
