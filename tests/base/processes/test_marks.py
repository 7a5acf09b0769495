"""For whom a process was started is read from its environment."""

import os
import subprocess
import sys

from codex_mcp.base.processes.marks import variables


def test_the_variables_of_a_process_are_those_that_it_was_started_with() -> None:
    child = subprocess.Popen(
        [sys.executable, "-c", "input()"], stdin=subprocess.PIPE, env={"A": "1=2", "B": "", "C": "x"}
    )
    try:
        assert variables(child.pid, ("A", "B", "D")) == {"A": "1=2", "B": ""}
    finally:
        child.communicate(b"\n")
    assert variables(child.pid, ("A",)) == {}


def test_a_process_that_clears_its_environment_cannot_be_told() -> None:
    child = subprocess.Popen(
        ["env", "-i", sys.executable, "-c", "print(flush=True); input()"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        env={"A": "1", "PATH": os.environ["PATH"]},
    )
    try:
        assert child.stdout is not None
        child.stdout.readline()
        assert variables(child.pid, ("A",)) == {}
    finally:
        child.communicate(b"\n")


AGAIN = """
import os, sys
left, program = int(sys.argv[1]), sys.argv[2]
if left:
    os.execv(sys.executable, [sys.executable, "-SsE", "-c", program, str(left - 1), program])
input()
"""
"""Replaces its program a number of times, then waits for a line."""


def test_a_process_is_told_also_while_it_replaces_its_program() -> None:
    child = subprocess.Popen([sys.executable, "-SsE", "-c", AGAIN, "50", AGAIN], stdin=subprocess.PIPE, env={"A": "1"})
    try:
        assert [found for _ in range(20000) if (found := variables(child.pid, ("A",))) != {"A": "1"}] == []
    finally:
        child.communicate(b"\n")
