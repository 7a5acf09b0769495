import json
import subprocess
import tomllib
from pathlib import Path

import pytest

from codex_mcp.base.settings.groups import SETTINGS
from tests.support.servers.commands import PROGRAM, command

SECRET = "sk-abcdefghijklmnop"


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / ".config" / "atm" / "config.toml"
    path.parent.mkdir(parents=True)
    return path


def test_every_setting_is_shown_in_a_form_that_a_file_may_have(tmp_path: Path) -> None:
    shown = command(tmp_path, "config", "--team", "backend", CODEX_MCP_EVENTS="none")
    assert (shown.returncode, shown.stderr) == (0, "")
    settings = tomllib.loads(shown.stdout)["plugins"]["codex-mcp"]
    assert (settings["team"], settings["events"], settings["approval_timeout"]) == ("backend", "none", 600)
    assert all(name in settings or f"# {name} =" in shown.stdout for name in SETTINGS)


def test_what_is_shown_gives_the_same_settings_again(tmp_path: Path, file: Path) -> None:
    (tmp_path / ".codex").mkdir()  # a folder that is named must exist
    shown = command(tmp_path, "config", "-c", "model=o3", "--timeout", "7").stdout
    file.write_text(shown)
    assert command(tmp_path, "config").stdout == shown


def test_the_origin_is_a_flag_a_variable_a_line_of_a_file_or_the_default(tmp_path: Path, file: Path) -> None:
    file.write_text('[plugins.codex-mcp]\nmodel = "a model"\n')
    shown = command(tmp_path, "config", "--show-origin", "--identity", "me", ATM_TEAM="backend").stdout
    lines = [" ".join(line.split()) for line in shown.splitlines()]
    assert 'default_identity = "me" # --identity' in lines
    assert 'team = "backend" # ATM_TEAM' in lines
    assert f'model = "a model" # {file}:2' in lines
    assert 'protocol = "both" # default' in lines
    assert "turn_timeout = 1800 # default" in lines


def test_programs_get_json(tmp_path: Path, file: Path) -> None:
    file.write_text('[plugins.codex-mcp]\nmdoel = "a model"\n')
    shown = json.loads(command(tmp_path, "config", "--json").stdout)
    assert shown["schema"] == 1
    assert shown["settings"]["protocol"] == {"value": "both", "origin": "default"}
    assert shown["warnings"] == [
        f"{file}:2 sets mdoel, which is not a setting of this version and is ignored; did you mean model?"
    ]


def test_warnings_are_told_beside_the_settings(tmp_path: Path, file: Path) -> None:
    file.write_text('[plugins.codex-mcp]\nmdoel = "a model"\n')
    shown = command(tmp_path, "config")
    assert "did you mean model?" in shown.stderr
    assert "mdoel" not in shown.stdout


@pytest.mark.parametrize("flags", [(), ("--json",), ("--show-origin",)])
def test_secrets_are_masked(tmp_path: Path, flags: tuple[str, ...]) -> None:
    shown = command(tmp_path, "config", "-c", f"providers.x.api_key={SECRET}", *flags)
    assert shown.returncode == 0
    assert SECRET not in shown.stdout + shown.stderr
    assert "providers.x.api_key=****" in shown.stdout


def test_a_wrong_value_is_a_sentence_and_exit_code_2(tmp_path: Path, file: Path) -> None:
    file.write_text("[plugins.codex-mcp]\n\nmax_hops = 0\n")
    shown = command(tmp_path, "config")
    assert (shown.returncode, shown.stdout) == (2, "")
    assert shown.stderr == (
        f"codex-mcp config: cannot use max_hops = 0 from {file}:3: it must be a whole number from 1 to 1000\n"
    )


def test_who_has_heard_enough_may_go(tmp_path: Path) -> None:
    environment = {"HOME": str(tmp_path), "PATH": "/usr/bin:/bin"}
    argv = ["sh", "-c", f"({PROGRAM} config; echo $? >code) | true"]
    heard = subprocess.run(argv, env=environment, cwd=tmp_path, capture_output=True, text=True, check=True)
    assert heard.stderr == ""
    assert (tmp_path / "code").read_text() in ("0\n", "141\n")
