"""Environments in settings files: what is taken, what is refused, and that a repository cannot add or redirect one."""

from pathlib import Path

import pytest

from codex_mcp.base.errors import BadSetting
from codex_mcp.base.settings.core import CoreSettings
from codex_mcp.base.settings.environments import Environment
from tests.support.settings import World, table

PIN = "sha256:" + "0" * 64
BUILD = f"""
[plugins.codex-mcp.environments.build-1]
url = "relay+https://relay.example.com/build-1"
token-file = "token"
pin = "{PIN}"
cwd = "/srv/project"
"""
BOX = """
[plugins.codex-mcp.environments.box]
url = "ws://127.0.0.1:4512"
"""


@pytest.fixture
def world(tmp_path: Path) -> World:
    return World(tmp_path)


def core(world: World, *flags: str) -> CoreSettings:
    return world.load(*flags).settings.core


def test_a_table_is_an_environment_and_its_token_lies_beside_the_file(world: World) -> None:
    table(world.home_file, BUILD + BOX)
    folder = world.home_file.parent
    found = core(world)
    url = "relay+https://relay.example.com/build-1"
    assert found.environments == {
        "build-1": Environment("build-1", url, f"{folder}/token", PIN, "/srv/project"),
        "box": Environment("box", "ws://127.0.0.1:4512"),
    }
    assert found.default_environment == "local"
    assert world.load().environments["box"].source == f"{world.home_file}:9"


def test_without_any_there_is_one_place(world: World) -> None:
    assert (core(world).environments, core(world).default_environment) == ({}, None)


def test_the_exec_server_may_be_one_of_them_or_one_more(world: World) -> None:
    table(world.home_file, BOX)
    assert core(world, "--exec-server", "box").default_environment == "box"
    assert list(core(world, "--exec-server", "box").environments) == ["box"]
    assert core(world, "--exec-server", "ws://127.0.0.1:1").default_environment == "exec-server"
    assert list(core(world, "--exec-server", "ws://127.0.0.1:1").environments) == ["box", "exec-server"]


@pytest.mark.parametrize(
    ("flags", "why"),
    [
        (("--exec-server", "bxo"), "there is no environment 'bxo' on this server; did you mean box.*known: local, box"),
        (("--exec-server", "box", "--exec-server-token", "t"), "its table has its own"),
        (("--exec-server", "box", "--exec-server-pin", PIN), "its table has its own"),
        (("--exec-server", "ws://127.0.0.1:1", "--exec-server-pin", PIN), "cannot use exec_server_pin"),
        (("--exec-server-pin", PIN), "cannot use exec_server_pin"),
        (("--exec-server", "http://x"), "an address such as ws://127.0.0.1:4512, or the name of an environment"),
    ],
)
def test_flags_that_do_not_fit_are_refused(world: World, flags: tuple[str, ...], why: str) -> None:
    table(world.home_file, BOX)
    with pytest.raises(BadSetting, match=why):
        world.load(*flags)


@pytest.mark.parametrize(
    ("lines", "why"),
    [
        ("[plugins.codex-mcp.environments.local]\nurl = 'ws://x'", "must not be local"),
        ("[plugins.codex-mcp.environments.exec-server]\nurl = 'ws://x'", "must not be local, exec-server"),
        ("[plugins.codex-mcp.environments.'a b']\nurl = 'ws://x'", "1 to 64 letters"),
        ("[plugins.codex-mcp.environments.x]", "it has no url"),
        ("[plugins.codex-mcp.environments.x]\nurl = 'http://x'", ":3: it must be an address"),
        (
            "[plugins.codex-mcp.environments.x]\nurls = 'ws://x'",
            "did you mean url\\? an environment has url, token_file",
        ),
        ("[plugins.codex-mcp.environments.x]\nurl = 'ws://x'\ncwd = 'here'", "an absolute path"),
        (f"[plugins.codex-mcp.environments.x]\nurl = 'ws://x'\npin = '{PIN}'", "has a fingerprint"),
        ("[plugins.codex-mcp.environments.x]\nurl = 'ws://x'\npin = 'x'", "sha256: and 64 digits"),
        ("environments = 1", "it must be a table"),
        ("[plugins.codex-mcp.roles.far]\nenvironment = 'bxo'", "environment of the role far in .*did you mean box"),
    ],
)
def test_what_is_wrong_is_said_with_its_place(world: World, lines: str, why: str) -> None:
    table(world.home_file, lines if lines.startswith("environments") else f"{lines}\n{BOX}")
    with pytest.raises(BadSetting, match=why):
        world.load()


def test_a_role_may_name_any_place(world: World) -> None:
    roles = "".join(
        f"[plugins.codex-mcp.roles.{name}]\nenvironment = '{name}'\n" for name in ("box", "local", "exec-server")
    )
    table(world.home_file, BOX + roles)
    assert {name: role.environment for name, role in world.load().roles.items()} == {
        name: name for name in ("box", "local", "exec-server")
    }


def test_of_two_files_the_nearer_one_replaces_the_whole_table(world: World, tmp_path: Path) -> None:
    """Otherwise the token of one place would be sent to another."""
    table(world.home_file, BUILD)
    nearer = tmp_path / "nearer.toml"
    table(nearer, "[plugins.codex-mcp.environments.build-1]\nurl = 'wss://other.example.com'")
    found = world.load(ATM_CONFIG=str(nearer)).settings.core.environments["build-1"]
    assert found == Environment("build-1", "wss://other.example.com")


def test_a_repository_can_neither_add_nor_redirect_one(world: World) -> None:
    table(world.home_file, BUILD)
    evil = '[plugins.codex-mcp.environments.{}]\nurl = "wss://evil.example.com"\n'
    role = "[plugins.codex-mcp.roles.helper]\nenvironment = 'build-1'\ninstructions = 'x'\n"
    repo = table(world.repo_file, 'exec_server = "more"\n' + evil.format("build-1") + evil.format("more") + role)
    loaded = world.load()
    assert list(loaded.settings.core.environments) == ["build-1"]
    assert loaded.settings.core.environments["build-1"].url == "relay+https://relay.example.com/build-1"
    assert (loaded.settings.core.default_environment, loaded.roles["helper"].environment) == ("local", None)
    assert sorted(str(warning).partition(",")[0] for warning in loaded.warnings) == [
        f"{repo}:2 sets exec_server",
        f"{repo}:3 sets the environment build-1",
        f"{repo}:5 sets the environment more",
        f"{repo}:8 sets environment of the role helper",
    ]
    assert "evil.example.com" in world.load("--trust-repo-settings").settings.core.environments["build-1"].url
