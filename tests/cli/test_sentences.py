"""Sentences for a person: their commands can be run as they stand, and no word is cut."""

import fcntl
import io
import os
import pty
import struct
import termios
from pathlib import Path

import pytest

from codex_mcp.cli.sentences import complain, fitted, runnable, say
from tests.support.servers.commands import PROGRAM
from tests.support.servers.terminal import Terminal

PATH = "/opt/my tools/codex-mcp"


@pytest.mark.parametrize(
    ("said", "told"),
    [
        ("run codex-mcp login, then call again", f"run {PATH} login, then call again"),
        ("`codex-mcp doctor --self-test`", f"`{PATH} doctor --self-test`"),
        ("codex-mcp cannot change it", "codex-mcp cannot change it"),
        ("add --command codex-mcp (if it is on PATH)", "add --command codex-mcp (if it is on PATH)"),
        ("/x/codex-mcp serve, uvx-codex-mcp serve", "/x/codex-mcp serve, uvx-codex-mcp serve"),
    ],
)
def test_a_command_of_ours_is_told_as_it_can_be_run(said: str, told: str) -> None:
    assert runnable(said, PATH) == told
    assert runnable(said, "codex-mcp") == said


def test_at_a_terminal_no_word_is_cut() -> None:
    lead, end = pty.openpty()
    try:
        fcntl.ioctl(end, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 60, 0, 0))
        with os.fdopen(os.dup(end), "w") as terminal:
            long = "/a/path/that-is/much-longer/than/the/width/of/this/terminal/and/must/stay/whole"
            text = fitted(f"a sentence with some words before {long} and after it\nsecond line", terminal)
        assert long in text.split("\n")
        assert text.endswith("second line")
        assert all(len(line) < 60 or line == long for line in text.split("\n"))
    finally:
        os.close(lead)
        os.close(end)


@pytest.mark.parametrize("words", [["frobnicate"], ["install", "--frobnicate"], ["threads", "--older-than", "soon"]])
def test_an_error_about_the_words_of_a_command_line_is_not_cut_either(words: list[str]) -> None:
    with Terminal([PROGRAM, *words], {"PATH": "/usr/bin:/bin", "HOME": "/nowhere"}, 45) as terminal:
        assert terminal.exit_code() == 2
    lines = terminal.shown.replace("\r", "").split("\n")
    assert all(len(line) < 45 for line in lines)
    assert any("error: " in line for line in lines)


def test_into_a_pipe_nothing_is_wrapped() -> None:
    text = "words " * 100
    assert fitted(text, io.StringIO()) == text


def test_both_streams_name_the_program_by_its_path_where_path_does_not_have_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    program = tmp_path / "codex-mcp"
    program.touch(mode=0o755)
    monkeypatch.setattr("sys.argv", [str(program)])
    monkeypatch.setenv("PATH", "/nowhere")
    say("codex-mcp login signs in")
    complain("install", "not signed in: run codex-mcp login")
    assert capsys.readouterr() == (
        f"{program} login signs in\n",
        f"codex-mcp install: not signed in: run {program} login\n",
    )
