"""Completion in a real shell."""

import subprocess
from pathlib import Path

import pytest

from codex_mcp.cli.cmd_completion import SHELLS, whole_parser
from codex_mcp.cli.main import COMMANDS
from tests.support.servers.commands import command

BASH = """
. "$1"
shift
COMP_WORDS=("$@") COMP_CWORD=$(($# - 1))
$(complete -p codex-mcp | sed 's/.*-F \\([^ ]*\\).*/\\1/')
printf '%s\\n' "${COMPREPLY[@]}"
"""


def completed(script: Path, *words: str) -> set[str]:
    """What bash offers for the last of these words."""
    argv = ["bash", "-c", BASH, "bash", str(script), "codex-mcp", *words]
    return set(subprocess.run(argv, capture_output=True, text=True, check=True, timeout=60).stdout.split())


@pytest.fixture
def script(tmp_path: Path) -> Path:
    path = tmp_path / "completion"
    path.write_text(command(tmp_path, "completion", "bash").stdout)
    return path


def test_bash_completes_commands_and_flags(script: Path) -> None:
    assert set(COMMANDS) <= completed(script, "")
    assert completed(script, "doc") == {"doctor"}
    assert {"--json", "--summary", "--turn"} <= completed(script, "doctor", "--")
    assert completed(script, "serve", "--state") == {"--state-dir"}
    assert completed(script, "completion", "z") == {"zsh"}


@pytest.mark.parametrize("shell", SHELLS)
def test_every_shell_gets_a_script_with_every_command(tmp_path: Path, shell: str) -> None:
    ended = command(tmp_path, "completion", shell)
    assert (ended.returncode, ended.stderr) == (0, "")
    assert [name for name in COMMANDS if name not in ended.stdout] == []


def test_an_unknown_shell_is_a_sentence(tmp_path: Path) -> None:
    ended = command(tmp_path, "completion", "tcsh")
    assert ended.returncode == 2
    assert "choose from" in ended.stderr


def test_files_and_folders_are_completed_where_they_are_expected() -> None:
    (commands,) = [action for action in whole_parser()._actions if action.metavar == "COMMAND"]
    assert isinstance(commands.choices, dict)
    flags = commands.choices["serve"]._option_string_actions
    assert {name for name in ("--state-dir", "--tokens", "--team") if hasattr(flags[name], "complete")} == {
        "--state-dir",
        "--tokens",
    }
