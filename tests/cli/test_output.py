import fcntl
import json
import os
import pty
import struct
import subprocess
import sys
import termios
from pathlib import Path

import pytest

from codex_mcp.cli.output import print_json, print_json_line, print_table, print_text, terminal_width

SOURCES = str(Path(__file__).parents[2] / "src")


def test_json_is_one_document(capsys: pytest.CaptureFixture[str]) -> None:
    print_json({"schema": 1, "text": "ä"})
    assert json.loads(capsys.readouterr().out) == {"schema": 1, "text": "ä"}


def test_json_holds_no_character_that_a_terminal_obeys_and_says_the_same(capsys: pytest.CaptureFixture[str]) -> None:
    value = {"text": "\x1b[2J\x07\x7f\x9b31m\u202etxt\u2069\ufeff\U000e0041 caf\xe9 \u65e5\u672c"}
    print_json(value)
    print_json_line(value)
    shown = capsys.readouterr().out
    assert all(char.isprintable() or char == "\n" for char in shown)
    assert shown.count("caf\xe9 \u65e5\u672c") == 2
    document, line = shown.rstrip("\n").rsplit("\n", 1)
    assert json.loads(document) == json.loads(line) == value


def test_a_text_ends_its_line(capsys: pytest.CaptureFixture[str]) -> None:
    print_text("one")
    assert capsys.readouterr().out == "one\n"


def test_what_the_terminal_has_no_letter_for_is_written_out_and_json_is_utf8() -> None:
    code = "from codex_mcp.cli.output import *; print_text('a·b'); print_json(['·']); print_json_line(['·'])"
    environment = {"PYTHONPATH": SOURCES, "PYTHONIOENCODING": "ascii"}
    said = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, check=True)
    assert said.stdout == b'a\\xb7b\n[\n  "\xc2\xb7"\n]\n["\xc2\xb7"]\n'


def test_into_a_pipe_nothing_is_cut() -> None:
    code = "from codex_mcp.cli.output import *; print(terminal_width()); print_table(['A'], [['x' * 300]])"
    said = subprocess.run([sys.executable, "-c", code], env={"PYTHONPATH": SOURCES}, capture_output=True, text=True)
    assert said.stdout.splitlines() == ["None", "A", "x" * 300]


def test_on_a_terminal_a_table_fits() -> None:
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 40, 0, 0))
    code = "from codex_mcp.cli.output import *; print_table(['A'], [['x' * 300]])"
    try:
        subprocess.run([sys.executable, "-c", code], env={"PYTHONPATH": SOURCES}, stdout=theirs, check=True)
        said = os.read(ours, 4096).decode()
    finally:
        os.close(ours)
        os.close(theirs)
    assert said.splitlines() == ["A", "x" * 39 + "…"]


def test_what_is_no_terminal_has_no_width(capfd: pytest.CaptureFixture[str]) -> None:
    assert terminal_width() is None
    print_table(["A"], [])
    assert capfd.readouterr().out == "A\n"
