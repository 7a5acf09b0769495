"""Servers that plugins bring to Claude Code, in its files as `/plugin install` writes them."""

import json
import os
from pathlib import Path

import pytest

from codex_mcp.cli.clients.everywhere.entry import Entry
from codex_mcp.cli.clients.everywhere.reading import read_clients
from codex_mcp.cli.clients.surroundings import folders_here
from codex_mcp.cli.doctor.client_checks import judge_clients
from codex_mcp.cli.doctor.facts import Clients, Level
from tests.support.clients.home import World

OURS = {"command": "codex-mcp", "args": ["serve"]}
OLD = {"command": "codex", "args": ["mcp-server"]}


@pytest.fixture
def world(tmp_path: Path) -> World:
    return World(tmp_path)


def plugin(
    world: World, server: object, *, enabled: object = True, scope: str = "user", folder: str = ".claude"
) -> None:
    """A plugin with one server."""
    home = world.home / folder
    place = home / "plugins/cache/it/1.0"
    place.mkdir(parents=True)
    (place / ".mcp.json").write_text(json.dumps({"mcpServers": {"codex": server}}))
    (home / "settings.json").write_text(json.dumps({"enabledPlugins": {"codex-mcp@it": enabled}}))
    installed = {"codex-mcp@it": [{"scope": scope, "installPath": str(place), "version": "1.0"}]}
    (home / "plugins/installed_plugins.json").write_text(json.dumps({"version": 2, "plugins": installed}))


def on_path(world: World, name: str) -> None:
    program = Path(world.environment["PATH"]) / name
    program.parent.mkdir()
    program.write_text("#!/bin/sh\n")
    program.chmod(0o755)


def found(world: World) -> list[Entry]:
    where = folders_here(world.environment, str(world.project))
    return [each for each in read_clients(where, world.environment) if isinstance(each, Entry)]


def told(world: World) -> dict[str, str]:
    """What `doctor` says is wrong, and its advice."""
    findings = judge_clients(Clients(tuple(found(world))))
    return {each.check: f"{each.text}; {each.fix}" for each in findings if each.level is not Level.OK}


@pytest.mark.parametrize("folder", [".claude", "elsewhere"])
def test_the_server_of_a_plugin_is_found(world: World, folder: str) -> None:
    if folder != ".claude":
        world.environment["CLAUDE_CONFIG_DIR"] = str(world.home / folder)
    on_path(world, "codex-mcp")
    plugin(world, OURS, folder=folder)
    (entry,) = found(world)
    assert (entry.client, entry.scope, entry.name) == ("Claude Code", "plugin", "plugin:codex-mcp:codex")
    assert told(world) == {}


@pytest.mark.parametrize("more", [{"enabled": False}, {"enabled": "yes"}, {"scope": "project"}])
def test_one_that_the_user_has_not_enabled_for_all_projects_is_not(world: World, more: dict[str, object]) -> None:
    plugin(world, OURS, **more)  # type: ignore[arg-type]
    assert found(world) == []


def test_files_that_say_something_else_are_no_plugins(world: World) -> None:
    plugin(world, OURS)
    for name in ("settings.json", "plugins/installed_plugins.json", "plugins/cache/it/1.0/.mcp.json"):
        file = world.home / ".claude" / name
        text = file.read_text()
        for other in ("{", "[]", '{"plugins": [1]}', '{"plugins": {"codex-mcp@it": [{"installPath": 1}]}}', ""):
            file.write_text(other)
            assert found(world) == []
        file.write_text(text)
    os.mkfifo(world.home / "pipe")
    os.replace(world.home / "pipe", world.home / ".claude/settings.json")
    assert found(world) == []


def test_a_plugin_whose_program_is_not_on_path_is_an_error(world: World, capsys: pytest.CaptureFixture[str]) -> None:
    plugin(world, OURS)
    assert "runs codex-mcp, which does not exist or is not on PATH; link" in told(world)["clients.program"]
    assert world.run("install", "--list", "--json") == 0
    (entry,) = json.loads(capsys.readouterr().out)["entries"]
    assert (entry["client"], entry["scope"], entry["state"]) == ("claude", "plugin", "codex-mcp is not on PATH")


def test_an_old_server_of_a_plugin_cannot_be_migrated(world: World, capsys: pytest.CaptureFixture[str]) -> None:
    plugin(world, OLD)
    assert told(world)["clients.old-server"].endswith("update or disable the plugin")
    assert world.run("migrate", "--yes") == 0
    assert "nothing to do" in capsys.readouterr().out
    assert world.run("install", "--list") == 0
    assert "update the plugin" in capsys.readouterr().out


def test_the_plugin_and_an_entry_beside_it_are_named(world: World, capsys: pytest.CaptureFixture[str]) -> None:
    on_path(world, "codex-mcp")
    plugin(world, OURS)
    assert world.run("install", "claude") == 0
    assert "would see every tool twice" in capsys.readouterr().err
    assert "twice, as codex and as plugin:codex-mcp:codex" in told(world)["clients.twice"]


def test_a_client_that_has_the_plugin_is_left_out_by_install_all(
    world: World, capsys: pytest.CaptureFixture[str]
) -> None:
    on_path(world, "claude")
    plugin(world, OURS)
    assert world.run("install", "--all", "--yes") == 0
    assert "Every client that is here has codex-mcp" in capsys.readouterr().out
