"""Completion in a real shell."""

import subprocess
from pathlib import Path

import pytest

from codex_mcp.cli.cmd_completion import AGENTS, MEMBERS, SHELLS, whole_parser
from codex_mcp.cli.commands import COMMANDS
from tests.support.servers.commands import PROGRAM, command
from tests.support.state.agents import an_agent, register, state_folder_of

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
    environment = {"PATH": f"{Path(PROGRAM).parent}:/usr/bin:/bin", "HOME": str(script.parent)}
    ended = subprocess.run(argv, capture_output=True, text=True, check=True, timeout=60, env=environment)
    assert ended.stderr == ""
    return set(ended.stdout.split())


@pytest.fixture
def script(tmp_path: Path) -> Path:
    path = tmp_path / "completion"
    path.write_text(command(tmp_path, "completion", "bash").stdout)
    return path


def test_bash_completes_commands_and_flags(script: Path) -> None:
    assert set(COMMANDS) <= completed(script, "")
    assert completed(script, "doc") == {"doctor"}
    assert {"--json", "--summary", "--turn"} <= completed(script, "doctor", "--")
    assert completed(script, "serve", "--state") == {"--state", "--state-dir"}
    assert completed(script, "completion", "z") == {"zsh"}


def test_bash_completes_names_of_agents_and_of_inboxes(script: Path) -> None:
    assert completed(script, "summary", "") == set()
    folder = state_folder_of(script.parent)
    folder.mkdir(parents=True)
    register(folder, an_agent(1, "alice"), an_agent(2, "alice"), an_agent(3, "bob"))
    assert completed(script, "summary", "al") == {"alice"}
    assert completed(script, "threads", "--identity", "") == {"alice", "bob"}
    inbox = script.parent / ".claude/teams/default/inboxes/albert.json"
    inbox.parent.mkdir(parents=True)
    inbox.write_text("[]")
    inbox.with_name("al$(touch made).json").write_text("[]")
    assert completed(script, "audit", "--identity", "al") == {"alice"}
    assert completed(script, "mail", "send", "al") == {"albert", "alice"}
    assert completed(script, "mail", "read", "--as", "b") == {"bob"}
    assert not (script.parent / "made").exists()


@pytest.mark.parametrize("shell", SHELLS)
def test_every_shell_gets_a_script_with_every_command(tmp_path: Path, shell: str) -> None:
    ended = command(tmp_path, "completion", shell)
    assert (ended.returncode, ended.stderr) == (0, "")
    assert [name for name in COMMANDS if name not in ended.stdout] == []
    assert {f"codex-mcp completion {whose} 2>/dev/null" in ended.stdout for whose in (AGENTS, MEMBERS)} == {True}


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
