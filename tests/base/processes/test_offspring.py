"""Children that are found and ended, tried in a Python of its own: the children of these tests are not to be ended."""

import os
import subprocess
import sys
import textwrap

from codex_mcp.base.processes.offspring import AwaitedChild, children, no_longer_awaited
from tests.support.patience import PATIENCE

PRELUDE = """
import os, subprocess, sys
from codex_mcp.base.processes.offspring import children, kill_children
"""


def run(program: str) -> list[str]:
    """What the program printed, line by line."""
    source = textwrap.dedent(PRELUDE) + textwrap.dedent(program)
    environment = {"PATH": os.environ["PATH"], "PYTHONPATH": os.pathsep.join(sys.path)}
    done = subprocess.run(
        [sys.executable, "-c", source], env=environment, capture_output=True, text=True, timeout=PATIENCE, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


def test_all_are_ended_but_some() -> None:
    assert run("""
        with subprocess.Popen(["sleep", "1000"]) as one, subprocess.Popen(["sleep", "1000"]) as other:
            print(children() == {one.pid, other.pid}, kill_children(but=frozenset({one.pid})), children() == {one.pid})
            print(kill_children(), children(), kill_children())
    """) == ["True 1 True", "1 set() 0"]


def test_a_name_full_of_brackets_confuses_nobody() -> None:
    assert run("""
        import shutil, tempfile
        with tempfile.TemporaryDirectory() as folder:
            odd = os.path.join(folder, "a) S 1 (b")
            shutil.copy(shutil.which("sleep"), odd)
            with subprocess.Popen([odd, "1000"]) as own:
                print(children() == {own.pid})
                own.kill()
    """) == ["True"]


def test_nobody_waits_for_a_process_of_another_user() -> None:
    # Only root can become somebody else; for anybody else this child is one like any other.
    assert run("""
        with subprocess.Popen(["sleep", "1000"]) as own:
            root = os.geteuid() == 0
            if root:
                os.setresuid(65534, 65534, 0)
            print(kill_children() == (0 if root else 1))
            if root:
                os.seteuid(0)
            own.kill()
    """) == ["True"]


def test_where_there_is_no_proc_there_are_no_children_to_see() -> None:
    assert run("""
        from codex_mcp.base.processes import offspring
        offspring.PROC = "/nowhere"
        with subprocess.Popen(["sleep", "1000"]) as own:
            print(children())
            own.kill()
    """) == ["set()"]


def test_the_process_of_these_tests_has_adopted_nobody() -> None:
    assert children() == set()


def test_a_child_that_its_starter_awaits_is_not_found() -> None:
    with AwaitedChild() as note:
        child = subprocess.Popen(["sleep", "98765"])
        note(child.pid)
    try:
        assert child.pid not in children()
        no_longer_awaited(child.pid)
        assert child.pid in children()
    finally:
        no_longer_awaited(child.pid)
        child.kill()
        child.wait()
