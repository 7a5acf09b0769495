"""`install --list`: each entry with what becomes of its start."""

import json
import sys
from pathlib import Path

import pytest

from codex_mcp import __version__
from codex_mcp.cli.clients.known import Scope
from codex_mcp.cli.main import main
from tests.support.clients.home import World
from tests.support.servers.commands import PROGRAM
from tests.support.servers.terminal import Terminal


@pytest.fixture
def world(tmp_path: Path) -> World:
    return World(tmp_path, {"PATH": f"{tmp_path}/bin:/usr/bin:/bin"})


def put(world: World, client: str, server: dict[str, object], scope: Scope = Scope.USER) -> None:
    file = world.file(client, scope)
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(json.dumps({"mcpServers": {"codex": server}}))


def listed(world: World, capsys: pytest.CaptureFixture[str]) -> list[dict[str, object]]:
    assert world.run("install", "--list", "--json") == 0
    document = json.loads(capsys.readouterr().out)
    entries: list[dict[str, object]] = document["entries"]
    return entries


def test_an_entry_that_starts_shows_its_version(world: World, capsys: pytest.CaptureFixture[str]) -> None:
    put(world, "claude", {"command": PROGRAM, "args": ["mcp-server"], "env": {"CODEX_HOME": str(world.project)}})
    (entry,) = listed(world, capsys)
    assert (entry["client"], entry["scope"], entry["name"]) == ("claude", "user", "codex")
    assert (entry["starts"], entry["state"], entry["version"]) == (True, "starts", __version__)
    assert world.run("install", "--list") == 0
    assert f"starts ({__version__})" in capsys.readouterr().out


def test_a_path_below_the_home_folder_is_shown_short(world: World, capsys: pytest.CaptureFixture[str]) -> None:
    put(world, "claude", {"command": f"{world.home}/bin/codex-mcp", "args": ["serve"]})
    assert world.run("install", "--list") == 0
    assert " ~/bin/codex-mcp serve " in capsys.readouterr().out


@pytest.mark.parametrize(
    ("server", "state"),
    [
        ({"command": "codex", "args": ["mcp-server"]}, "an old server (codex mcp-server): codex-mcp migrate"),
        (
            {"command": "/gone/codex-mcp", "args": ["mcp-server"]},
            "/gone/codex-mcp is not there: codex-mcp install again",
        ),
        ({"command": PROGRAM, "args": ["mcp-server", "--frobnicate"]}, "there is no flag --frobnicate"),
    ],
)
def test_an_entry_that_does_not_start_says_why(
    world: World, capsys: pytest.CaptureFixture[str], server: dict[str, object], state: str
) -> None:
    put(world, "claude", server)
    (entry,) = listed(world, capsys)
    assert entry["starts"] is False
    assert state in str(entry["state"])


def test_a_program_that_a_projects_file_names_is_not_started(world: World, capsys: pytest.CaptureFixture[str]) -> None:
    mark = world.home / "ran"
    program = world.project / "codex-mcp"
    program.write_text(f"#!/bin/sh\ntouch {mark}\n")
    program.chmod(0o755)
    put(world, "claude", {"command": str(program), "args": ["mcp-server"]}, Scope.PROJECT)
    (entry,) = listed(world, capsys)
    assert (entry["scope"], entry["starts"]) == ("project", False)
    assert not mark.exists()


def planted(world: World, *names: str) -> Path:
    """Programs in the project; the path of what shows that one was started."""
    mark = world.home / "ran"
    for name in names:
        program = world.project / name
        program.parent.mkdir(parents=True, exist_ok=True)
        program.write_text(f"#!/bin/sh\ntouch {mark}\n")
        program.chmod(0o755)
    return mark


def test_a_projects_file_cannot_pass_its_entry_off_as_one_of_the_user(
    world: World, capsys: pytest.CaptureFixture[str]
) -> None:
    mark = planted(world, "codex-mcp")
    server = {"command": str(world.project / "codex-mcp"), "args": ["mcp-server"]}
    for project in ("/x", str(world.project)):
        local = {"projects": {project: {"mcpServers": {"codex": server}}}}
        world.file("claude", Scope.PROJECT).write_text(json.dumps(local))
        assert listed(world, capsys) == []
    assert not mark.exists()


@pytest.mark.parametrize(
    ("words", "state"),
    [
        (["codex-mcp"], "not tried, since its program may be one of this project"),
        (["./bin/codex-mcp"], "not tried, since its program may be one of this project"),
        (["sh", "-c", "bin/codex-mcp mcp-server"], "does not start"),
        (["sh", "-c", "codex-mcp mcp-server"], "does not start"),
        ([sys.executable, "-m", "codex_mcp"], "starts"),
    ],
)
def test_no_program_of_the_project_is_started_for_an_entry_of_the_user(
    world: World,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    words: list[str],
    state: str,
) -> None:
    mark = planted(world, "bin/codex-mcp")
    written = f"open({str(mark)!r}, 'w').close()\n"
    (world.project / "codex_mcp").mkdir()
    (world.project / "codex_mcp/__init__.py").touch()
    (world.project / "codex_mcp/__main__.py").write_text(written)
    world.environment["PATH"] = f"{world.project}/bin:bin:/usr/bin:/bin"
    monkeypatch.chdir(world.project)
    arguments = words[1:] if "-c" in words else [*words[1:], "mcp-server"]
    put(world, "claude", {"command": words[0], "args": arguments})
    (entry,) = listed(world, capsys)
    assert str(entry["state"]).startswith(state)
    assert not mark.exists()


def test_an_address_that_install_wrote_is_tried(world: World, capsys: pytest.CaptureFixture[str]) -> None:
    assert world.run("install", "claude", "--http", "http://127.0.0.1:9/mcp") == 0
    put(world, "cursor", {"url": "http://127.0.0.1:9/of-somebody-else"})
    capsys.readouterr()
    (entry,) = listed(world, capsys)
    assert (entry["url"], entry["state"]) == ("http://127.0.0.1:9/mcp", "nothing answers there")


def test_other_servers_are_not_listed_and_unreadable_files_are_named(
    world: World, capsys: pytest.CaptureFixture[str]
) -> None:
    put(world, "cursor", {"command": "sleep", "args": ["9"]})
    world.file("claude").write_text("{")
    assert world.run("install", "--list") == 0
    told = capsys.readouterr()
    assert "No client has codex-mcp yet" in told.out
    assert "cannot read ~/.claude.json of Claude Code" in told.err


def test_secrets_of_an_entry_are_not_shown(world: World, capsys: pytest.CaptureFixture[str]) -> None:
    key = "sk-proj-abcdefghijklmnopqrstuvwxyz0123456789"
    put(world, "claude", {"command": "codex", "args": ["-c", f"api_key={key}", "mcp-server"]})
    world.run("install", "--list")
    assert key not in capsys.readouterr().out


@pytest.mark.parametrize("words", [["--list", "claude"], ["--list", "--all"], ["--all", "claude"]])
def test_words_that_do_not_belong_together_are_refused(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str], words: list[str]
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    assert main(["install", *words]) == 2
    assert "--list and --all go with neither" in capsys.readouterr().err


def on_path(world: World, *names: str) -> None:
    (world.home.parent / "bin").mkdir()
    for name in names:
        program = world.home.parent / "bin" / name
        program.write_text("#!/bin/sh\n")
        program.chmod(0o755)


def test_all_adds_it_to_every_client_that_is_here_and_lacks_it(
    world: World, capsys: pytest.CaptureFixture[str]
) -> None:
    on_path(world, "claude", "gemini", "qwen")
    assert world.run("install", "gemini") == 0
    assert world.run("install", "--all") == 1  # nobody to ask
    assert "Claude Code, Qwen Code." in capsys.readouterr().out
    assert not world.file("claude").exists()
    assert world.run("install", "--all", "--dry-run") == 0
    assert not world.file("claude").exists()
    assert world.run("install", "--all", "--yes", "--team") == 0
    servers = [json.loads(world.file(name).read_text())["mcpServers"]["codex"] for name in ("claude", "qwen", "gemini")]
    assert [server["args"][-1] for server in servers] == ["serve", "serve", "mcp-server"]
    assert not world.file("cursor").exists()
    assert world.run("install", "--all", "--yes") == 0
    assert "Every client that is here has codex-mcp" in capsys.readouterr().out


def test_on_a_narrow_terminal_the_state_of_each_is_whole(world: World) -> None:
    put(world, "claude", {"command": "codex", "args": ["mcp-server"]})
    put(world, "cursor", {"command": "codex-mcp", "args": ["serve"]})
    environment = {"PATH": "/usr/bin:/bin", "HOME": str(world.home)}
    with Terminal([PROGRAM, "install", "--list"], environment, 50) as terminal:
        assert terminal.exit_code() == 0
    words = " ".join(terminal.shown.split())
    assert words.startswith("codex of Claude Code (user): an old server (codex mcp-server): ")
    assert "codex-mcp migrate codex mcp-server codex of Cursor" in words
    assert words.endswith(" codex-mcp serve")


def test_if_no_client_is_here_all_says_so(world: World, capsys: pytest.CaptureFixture[str]) -> None:
    assert world.run("install", "--all", "--yes") == 0
    assert "No client that codex-mcp knows seems to be here" in capsys.readouterr().out


def test_a_client_whose_file_cannot_be_changed_does_not_stop_the_others(
    world: World, capsys: pytest.CaptureFixture[str]
) -> None:
    on_path(world, "claude", "gemini")
    world.file("claude").write_text("{")
    assert world.run("install", "--all", "--yes") == 1
    assert "codex-mcp install: Claude Code: cannot change" in capsys.readouterr().err
    assert world.file("gemini").exists()
