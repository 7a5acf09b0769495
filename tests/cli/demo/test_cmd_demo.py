"""The command `codex-mcp demo`; the demo itself is in tests/acceptance/test_demo.py."""

import argparse
import os
import subprocess
import sys
from pathlib import Path

import pytest

from codex_mcp.cli.demo import cmd_demo
from tests.support.patience import PATIENCE

DEMO = [sys.executable, "-m", "codex_mcp", "demo"]


@pytest.mark.parametrize(
    ("words", "given"),
    [([], None), (["--yes"], "yes"), (["--keep"], "keep"), (["--remote"], "remote"), (["--team"], "team")],
)
def test_its_flags(words: list[str], given: str | None) -> None:
    parser = argparse.ArgumentParser()
    cmd_demo.configure(parser)
    assert vars(parser.parse_args(words)) == {name: name == given for name in ("yes", "keep", "remote", "team")}


def test_where_it_cannot_be_run_one_sentence_and_exit_code_2_say_so(tmp_path: Path) -> None:
    done = subprocess.run(
        DEMO, env={"PATH": "/nowhere", "HOME": str(tmp_path), "TMPDIR": str(tmp_path)}, capture_output=True, text=True
    )
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == ("codex-mcp demo: cannot make a repository to work in: git is not on PATH; install git\n")
    assert list(tmp_path.iterdir()) == []


def test_a_reader_that_goes_away_ends_it(tmp_path: Path) -> None:
    environment = {"PATH": os.environ["PATH"], "HOME": str(tmp_path), "TMPDIR": str(tmp_path)}
    with subprocess.Popen(DEMO, env=environment, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE) as demo:
        assert demo.stdout is not None
        demo.stdout.readline()
        demo.stdout.close()
        assert demo.wait(timeout=PATIENCE) == 1
    assert list(tmp_path.iterdir()) == []
