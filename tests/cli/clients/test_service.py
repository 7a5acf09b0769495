"""`install --service` on a real folder; systemctl is a script that notes how it was called."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from codex_mcp.base.errors import Explained, Refused
from codex_mcp.cli.clients.service_unit import unit_text
from codex_mcp.cli.output import NOT_FOUND
from tests.support.clients.home import World
from tests.support.patience import PATIENCE

SYSTEMCTL = """#!/bin/sh
echo "$*" >> "$(dirname "$0")/calls"
if test -e "$(dirname "$0")/no-session"; then echo "Failed to connect to bus" >&2; exit 1; fi
"""


@pytest.fixture
def world(tmp_path: Path) -> World:
    world = World(tmp_path)
    programs = tmp_path / "bin"
    programs.mkdir()
    (programs / "systemctl").write_text(SYSTEMCTL)
    (programs / "systemctl").chmod(0o755)
    world.environment["PATH"] = f"{programs}:/usr/bin:/bin"
    return world


def calls(world: World) -> list[str]:
    """How systemctl was called since the last look."""
    log = world.home.parent / "bin/calls"
    lines = log.read_text().splitlines() if log.exists() else []
    log.unlink(missing_ok=True)
    return lines


def unit(world: World) -> Path:
    return world.home / ".config/systemd/user/codex-mcp.service"


def settings(text: str) -> dict[str, str]:
    """The settings of a unit, by name."""
    lines = [line for line in text.splitlines() if line and line[0] not in "#["]
    return dict(line.split("=", 1) for line in lines)


def words(line: str) -> list[str]:
    """The words of a line, as systemd reads them."""
    read: list[str] = []
    inside = False
    characters = iter(line.replace("%%", "%"))
    for character in characters:
        if character == '"':
            inside = not inside
            read += [""] if inside else []
        elif inside:
            escaped = next(characters) if character == "\\" else None
            read[-1] += {"n": "\n"}.get(escaped, escaped) if escaped else character
    return read


TEXT = st.text(
    st.characters(blacklist_categories=["Cs"], blacklist_characters="\0\r\x0b\x0c\x1c\x1d\x1e\x85\u2028\u2029")
)


@given(command=st.lists(TEXT, min_size=1), value=TEXT)
def test_systemd_reads_the_words_that_were_given(command: list[str], value: str) -> None:
    read = settings(unit_text(command, "/srv", {"PATH": value}))
    assert [word.replace("$$", "$") for word in words(read["ExecStart"])] == command
    assert words(read["Environment"]) == [f"PATH={value}"]


def test_systemd_itself_accepts_the_unit(tmp_path: Path) -> None:
    """Where its program is installed; in any case the unit has what it needs."""
    (folder := tmp_path / "a folder of 100%").mkdir()
    text = unit_text(
        [sys.executable, "serve", "--team", 'a "quoted" $HOME \\ 100%'], str(folder), {"PATH": "/bin:/usr/bin"}
    )
    (file := tmp_path / "codex-mcp.service").write_text(text)
    assert settings(text).keys() >= {"ExecStart", "WorkingDirectory", "Restart", "WantedBy"}
    for program in filter(None, [shutil.which("systemd-analyze")]):
        command = [program, "--user", "--man=no", "verify", str(file)]
        environment = {"HOME": str(tmp_path), "XDG_RUNTIME_DIR": str(tmp_path), "PATH": "/usr/bin:/bin"}
        ended = subprocess.run(command, capture_output=True, text=True, env=environment, timeout=PATIENCE)
        assert "codex-mcp.service" not in ended.stderr


def test_install_writes_the_unit_and_starts_it(world: World, capsys: pytest.CaptureFixture[str]) -> None:
    assert world.run("install", "--service", "--port", "4444", "--generate-token") == 0
    text = unit(world).read_text()
    command = words(settings(text)["ExecStart"])
    assert command[-4:] == ["serve", "--port", "4444", "--generate-token"]
    assert Path(command[0]).is_absolute()
    assert settings(text)["WorkingDirectory"] == str(world.project)
    assert words(settings(text)["Environment"]) == [f"PATH={world.environment['PATH']}"]
    assert [*map(str.split, calls(world))] == [
        ["--user", "daemon-reload"],
        ["--user", "enable", "codex-mcp.service"],
        ["--user", "restart", "codex-mcp.service"],
    ]
    assert "codex-mcp install claude --http http://127.0.0.1:4444/mcp" in capsys.readouterr().out


def test_a_service_without_a_port_gets_one(world: World) -> None:
    assert world.run("install", "--service") == 0
    assert words(settings(unit(world).read_text())["ExecStart"])[-2:] == ["--port", "3333"]


def test_uninstall_stops_it_and_removes_the_unit(world: World) -> None:
    world.run("install", "--service")
    calls(world)
    assert world.run("uninstall", "--service") == 0
    assert not unit(world).exists()
    assert calls(world) == ["--user disable --now codex-mcp.service", "--user daemon-reload"]
    assert world.run("uninstall", "--service") == NOT_FOUND


def test_a_dry_run_changes_nothing(world: World, capsys: pytest.CaptureFixture[str]) -> None:
    assert world.run("install", "--dry-run", "--service", "--team", "red") == 0
    assert "+ExecStart=" in capsys.readouterr().out
    assert (world.files(), calls(world)) == ({}, [])


def test_a_unit_of_somebody_else_is_left_alone(world: World) -> None:
    unit(world).parent.mkdir(parents=True)
    unit(world).write_text("[Service]\nExecStart=/bin/true\n")
    for command in ("install", "uninstall"):
        with pytest.raises(Refused, match="did not write it"):
            world.run(command, "--service")
    assert calls(world) == []


def test_what_serve_would_refuse_is_refused(world: World) -> None:
    for flags in (["--prot", "1"], ["--port", "many"]):
        with pytest.raises(Refused):
            world.run("install", "--service", *flags)
    assert world.files() == {}


def test_what_systemctl_says_is_shown(world: World) -> None:
    (world.home.parent / "bin/no-session").touch()
    with pytest.raises(Explained, match="daemon-reload` failed: Failed to connect to bus; put that right"):
        world.run("install", "--service")


def test_a_failed_install_leaves_no_unit(world: World) -> None:
    (world.home.parent / "bin/no-session").touch()
    with pytest.raises(Explained, match="Failed to connect to bus"):
        world.run("install", "--service")
    assert world.files() == {}


def test_a_failed_install_leaves_the_service_that_was_there(world: World) -> None:
    world.run("install", "--service", "--port", "4444")
    before = unit(world).read_text()
    calls(world)
    (world.home.parent / "bin/no-session").touch()
    with pytest.raises(Explained, match="Failed to connect to bus"):
        world.run("install", "--service", "--port", "5555")
    assert unit(world).read_text() == before
    assert calls(world)[1:] == ["--user daemon-reload", "--user restart codex-mcp.service"]


@pytest.mark.parametrize("is_there", [True, False], ids=["without a session", "without systemctl"])
def test_a_unit_is_removed_even_if_systemd_does_not_answer(
    world: World, capsys: pytest.CaptureFixture[str], *, is_there: bool
) -> None:
    world.run("install", "--service")
    wants = unit(world).parent / "default.target.wants"
    wants.mkdir()
    (wants / unit(world).name).symlink_to(unit(world))
    (world.home.parent / "bin/no-session").touch()
    if not is_there:
        (world.home.parent / "bin/systemctl").unlink()
        world.environment["PATH"] = str(world.home.parent / "bin")
    assert world.run("uninstall", "--service") == 0
    assert (world.files(), list(wants.iterdir())) == ({}, [])
    assert "if the server still runs, end it yourself" in capsys.readouterr().err


def test_without_systemd_it_refuses_in_a_sentence(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    world.environment["PATH"] = str(world.home)
    with pytest.raises(Refused, match="systemctl is not on PATH"):
        world.run("install", "--service")
    monkeypatch.setattr(sys, "platform", "darwin")
    with pytest.raises(Refused, match="on macOS: --service is for Linux"):
        world.run("install", "--service")


@pytest.mark.parametrize("wrong", [[], ["claude", "--service"]], ids=["neither", "both"])
def test_a_client_or_the_service_must_be_named(world: World, wrong: list[str]) -> None:
    for command in ("install", "uninstall"):
        with pytest.raises(Refused, match="either a client"):
            world.run(command, *wrong)
