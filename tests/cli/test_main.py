"""The program as a person meets it at the shell."""

import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from codex_mcp import __version__
from codex_mcp.cli.commands import COMMANDS
from codex_mcp.cli.main import main
from codex_mcp.cli.overview import overview
from tests.support.servers.terminal import Terminal

SCRIPTS = Path(sys.executable).parent


def shell(*words: str, home: Path) -> subprocess.CompletedProcess[str]:
    """Run a program of ours to its end, with nothing on its stdin."""
    environment = {"PATH": "/usr/bin:/bin", "HOME": str(home)}
    return subprocess.run(
        words, stdin=subprocess.DEVNULL, capture_output=True, text=True, env=environment, cwd=home, timeout=60
    )


@pytest.mark.parametrize("program", [[str(SCRIPTS / "codex-mcp")], [sys.executable, "-m", "codex_mcp"]])
def test_the_program_tells_its_version_and_its_commands(tmp_path: Path, program: list[str]) -> None:
    version = shell(*program, "--version", home=tmp_path)
    told = shell(*program, "--help", home=tmp_path)
    assert (version.returncode, version.stdout) == (0, f"codex-mcp {__version__}\n")
    assert told.returncode == 0
    for name, summary in COMMANDS.items():
        assert name in told.stdout
        assert summary.split(",")[0] in " ".join(told.stdout.split())


@pytest.mark.parametrize("name", sorted(COMMANDS))
def test_every_command_explains_itself(capsys: pytest.CaptureFixture[str], name: str) -> None:
    with pytest.raises(SystemExit) as ended:
        main([name, "--help"])
    out = capsys.readouterr().out
    assert ended.value.code == 0
    assert out.startswith(f"usage: codex-mcp {name}")
    assert max(map(len, out.splitlines())) <= 100


@pytest.mark.parametrize("columns", [60, 80])
@pytest.mark.parametrize("name", ["serve", "exec"])
def test_help_fits_the_terminal(tmp_path: Path, name: str, columns: int) -> None:
    environment = {"PATH": "/usr/bin:/bin", "HOME": str(tmp_path)}
    with Terminal([str(SCRIPTS / "codex-mcp"), name, "--help"], environment, columns) as terminal:
        assert terminal.exit_code() == 0
        lines = terminal.shown.splitlines()
    assert lines[0].startswith(f"usage: codex-mcp {name}")
    assert max(map(len, lines)) < columns


@pytest.mark.parametrize("words", [["frobnicate"], ["--frobnicate"], ["--", "mcp-server"], ["mcp-serve"]])
def test_what_is_no_command_is_a_sentence_and_exit_code_2(tmp_path: Path, words: list[str]) -> None:
    ended = shell(str(SCRIPTS / "codex-mcp"), *words, home=tmp_path)
    assert (ended.returncode, ended.stdout) == (2, "")
    assert "codex-mcp: error: " in ended.stderr
    assert "Traceback" not in ended.stderr


@pytest.mark.parametrize("words", [[], ["help"], ["--help"], ["-h"]])
def test_without_a_command_a_person_is_shown_the_help(tmp_path: Path, words: list[str]) -> None:
    environment = {"PATH": "/usr/bin:/bin", "HOME": str(tmp_path)}
    with Terminal([str(SCRIPTS / "codex-mcp"), *words], environment, columns=60) as terminal:
        assert terminal.exit_code() == 0
    assert terminal.shown.startswith("usage: codex-mcp COMMAND [FLAGS]")
    assert max(map(len, terminal.shown.splitlines())) < 60


def test_without_a_command_a_script_gets_the_help(tmp_path: Path) -> None:
    ended = shell(str(SCRIPTS / "codex-mcp"), home=tmp_path)
    assert (ended.returncode, ended.stdout, ended.stderr) == (0, overview(100) + "\n", "")


def test_without_a_command_a_pipe_that_stays_silent_gets_the_help(tmp_path: Path) -> None:
    environment = {"PATH": "/usr/bin:/bin", "HOME": str(tmp_path)}
    words = [str(SCRIPTS / "codex-mcp")]
    with subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=environment) as silent:
        assert silent.stdout is not None
        assert silent.stdout.read() == overview(100) + "\n"
        assert silent.wait() == 0


def test_the_help_of_a_command_is_also_found_by_a_word(tmp_path: Path) -> None:
    program = str(SCRIPTS / "codex-mcp")
    assert (
        shell(program, "help", "serve", home=tmp_path).stdout == shell(program, "serve", "--help", home=tmp_path).stdout
    )
    assert shell(program, "version", home=tmp_path).stdout == f"codex-mcp {__version__}\n"
    assert shell(program, "list", "--help", home=tmp_path).stdout.startswith("usage: codex-mcp threads ")
    assert "did you mean help?" in shell(program, "hlep", home=tmp_path).stderr


@given(st.integers(40, 200))
def test_every_command_is_in_the_help_and_no_line_is_too_long(width: int) -> None:
    lines = overview(width).splitlines()
    assert max(map(len, lines)) <= width
    assert [line.split()[0] for line in lines if line.startswith("  ") and line[2] != " "] == list(COMMANDS)


def test_an_unknown_flag_of_a_command_is_a_sentence_and_exit_code_2(tmp_path: Path) -> None:
    ended = shell(str(SCRIPTS / "codex-mcp"), "mcp-server", "--frobnicate", home=tmp_path)
    assert ended.returncode == 2
    said = "codex-mcp mcp-server: error: there is no flag --frobnicate; codex-mcp mcp-server --help lists the flags\n"
    assert ended.stderr.endswith(said)


@pytest.mark.parametrize(
    ("line", "hint"),
    [
        ("mcp-serve", "did you mean mcp-server?"),
        ("doktor --json", "did you mean doctor?"),
        ("serve --tema x", "did you mean --team?"),
        ("serve --timeou 5", "did you mean --timeout?"),
        ("config --js", "did you mean --json?"),
        ("exec-server --listn=stdio", "did you mean --listen?"),
        ("exec ls -la", "if it belongs to the command, write -- before the command"),
        ("exec --tyt ls", "did you mean --tty? If it belongs to the command, write -- before the command"),
        ("threads extra", "unexpected argument 'extra'"),
        ("--versoin", "did you mean --version?"),
    ],
)
def test_a_misspelled_word_names_the_right_one(tmp_path: Path, line: str, hint: str) -> None:
    ended = shell(str(SCRIPTS / "codex-mcp"), *line.split(), home=tmp_path)
    assert (ended.returncode, ended.stdout) == (2, "")
    assert hint in ended.stderr.splitlines()[-1]


@pytest.mark.parametrize("program", ["codex-mcp", "codex-mcp-server", "codex-exec-server", *sorted(COMMANDS)])
def test_every_entry_point_tells_its_version(tmp_path: Path, capsys: pytest.CaptureFixture[str], program: str) -> None:
    if program in COMMANDS:
        with pytest.raises(SystemExit) as ended:
            main([program, "--version"])
        assert (ended.value.code, capsys.readouterr().out) == (0, f"codex-mcp {__version__}\n")
    else:
        assert shell(str(SCRIPTS / program), "--version", home=tmp_path).stdout == f"codex-mcp {__version__}\n"


def test_a_bad_setting_is_a_sentence_and_exit_code_2(tmp_path: Path) -> None:
    ended = shell(str(SCRIPTS / "codex-mcp"), "mcp-server", "--shutdown-grace", "soon", home=tmp_path)
    assert ended.returncode == 2
    assert ended.stdout == ""
    assert ended.stderr.startswith("codex-mcp mcp-server: cannot use shutdown_grace = 'soon' from --shutdown-grace: ")
    assert len(ended.stderr.splitlines()) == 1


@pytest.mark.parametrize("command", ["serve", "threads", "config"])
def test_a_folder_that_is_gone_is_a_sentence(tmp_path: Path, command: str) -> None:
    (tmp_path / "gone").mkdir()
    program = f"cd gone && rmdir ../gone && exec {SCRIPTS / 'codex-mcp'} {command}"
    ended = shell("sh", "-c", program, home=tmp_path)
    said = f"codex-mcp {command}: cannot work in a folder that was deleted; change to another one\n"
    assert (ended.returncode, ended.stdout, ended.stderr) == (1, "", said)


@pytest.mark.parametrize("command", ["threads", "demo"])
def test_an_output_that_cannot_be_written_is_a_sentence(tmp_path: Path, command: str) -> None:
    ended = shell("sh", "-c", f"{SCRIPTS / 'codex-mcp'} {command} >/dev/full", home=tmp_path)
    said = f"codex-mcp {command}: cannot write the output: No space left on device; check where it goes\n"
    assert (ended.returncode, ended.stderr) == (1, said)


@pytest.mark.parametrize("command", ["threads", "audit", "summary x"])
def test_a_state_folder_that_does_not_exist_is_a_sentence(tmp_path: Path, command: str) -> None:
    ended = shell(str(SCRIPTS / "codex-mcp"), *command.split(), "--state-dir", "nowhere", home=tmp_path)
    assert (ended.returncode, ended.stdout) == (2, "")
    assert ended.stderr.startswith(f"codex-mcp {command.split()[0]}: cannot read the state folder ")
    assert ended.stderr.endswith("nowhere: it does not exist; check --state-dir\n")


def test_the_old_name_is_the_same_program(tmp_path: Path) -> None:
    new = shell(str(SCRIPTS / "codex-mcp"), "mcp-server", "--help", home=tmp_path)
    old = shell(str(SCRIPTS / "codex-mcp-server"), "--help", home=tmp_path)
    assert (old.returncode, old.stdout, old.stderr) == (0, new.stdout, "")


@pytest.mark.parametrize("closed", ["<&-", ">&-", "2>&-", "<&- >&- 2>&-"])
@pytest.mark.parametrize("command", ["mcp-server", "exec-server --listen stdio"])
def test_streams_that_are_closed_are_empty(tmp_path: Path, command: str, closed: str) -> None:
    ours = f"{SCRIPTS / 'codex-mcp'} {command}"
    ended = shell("sh", "-c", f"echo '{{' | {ours} {closed}; echo ended with $?", home=tmp_path)
    assert ended.stdout.endswith("ended with 0\n")
    assert "Traceback" not in ended.stderr
