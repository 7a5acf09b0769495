"""Processes that lose their parent, tried in a Python of its own: who adopts orphans keeps doing so for life."""

import os
import subprocess
import sys
import textwrap

from tests.support.patience import PATIENCE

PRELUDE = """
import os, subprocess, sys
from codex_mcp.base.processes.offspring import children
from codex_mcp.base.processes.orphans import adopt_orphans, kill_orphans, reap_orphans

def orphan(script, before=""):
    # A shell that starts another one in a session of its own, and ends as soon as that one has said who it is.
    argv = ["sh", "-c", f"setsid sh -c '{before} echo $$; exec 1>&-; {script}' &"]
    return int(subprocess.run(argv, stdout=subprocess.PIPE).stdout)

def alive(pid):
    try:
        state = open(f"/proc/{pid}/stat").read().rpartition(")")[2].split()[0]
    except OSError:
        return False
    return state != "Z"
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


def test_we_become_the_parent_of_a_process_that_lost_its_own_and_end_it() -> None:
    said = run("""
        print(adopt_orphans())
        left = orphan("exec sleep 1000")
        print(children() == {left}, kill_orphans(ours=()), alive(left), children())
        print(kill_orphans(ours=()))
    """)
    assert said == ["True", "True 1 False set()", "0"]


def test_a_whole_family_is_ended() -> None:
    said = run("""
        adopt_orphans()
        family = "(setsid sleep 1000 & exec setsid sleep 1000) > /dev/null & sleep 1000 > /dev/null &"
        orphan("exec sleep 1000", before=family)
        print(kill_orphans(ours=()) >= 3, children())
    """)
    assert said == ["True set()"]


def test_our_own_children_are_spared() -> None:
    said = run("""
        adopt_orphans()
        with subprocess.Popen(["sleep", "1000"]) as own:
            left = orphan("exec sleep 1000")
            print(children() == {own.pid, left}, kill_orphans(ours={own.pid}), own.poll())
            own.kill()
    """)
    assert said == ["True 1 None"]


def test_the_dead_are_buried_and_the_living_left_alone() -> None:
    said = run("""
        adopt_orphans()
        living, own = orphan("exec sleep 1000"), subprocess.Popen(["true"])
        dead = orphan("exit 0")
        for pid in (dead, own.pid):
            os.waitid(os.P_PID, pid, os.WEXITED | os.WNOWAIT)
        print(children() == {living, dead, own.pid})
        reap_orphans(ours={own.pid})
        print(children() == {living, own.pid}, own.wait())
        kill_orphans(ours=())
    """)
    assert said == ["True", "True 0"]


def test_a_child_that_is_to_die_with_us_does() -> None:
    parent = """
        from codex_mcp.base.processes.orphans import to_die_with_us
        argv = ["sh", "-c", "echo begun; exec sleep 1000"]
        child = subprocess.Popen(argv, stdout=subprocess.PIPE, preexec_fn=to_die_with_us())
        child.stdout.readline()
        print(child.pid, flush=True)
        os.kill(os.getpid(), 9)
    """
    said = run(f"""
        adopt_orphans()
        source = {textwrap.dedent(PRELUDE) + textwrap.dedent(parent)!r}
        child = int(subprocess.run([sys.executable, "-c", source], stdout=subprocess.PIPE).stdout)
        print(os.WTERMSIG(os.waitpid(child, 0)[1]))
    """)
    assert said == ["9"]
