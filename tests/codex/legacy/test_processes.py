"""The commands of a thread, found by what an old Codex writes into their environment."""

import os
import select
import subprocess
import uuid

import pytest

from codex_mcp.codex.legacy import processes
from codex_mcp.codex.legacy.processes import MARK, commands_of, kill_commands
from tests.support.patience import PATIENCE


def command(thread_id: str, script: str) -> subprocess.Popen[bytes]:
    """A command that says when it has begun."""
    process = subprocess.Popen(
        ["/bin/sh", "-c", script], env={"PATH": os.environ["PATH"], MARK: thread_id}, stdout=subprocess.PIPE
    )
    assert process.stdout is not None
    assert process.stdout.readline() == b"begun\n"
    return process


def test_all_processes_of_the_thread_are_killed_and_no_others() -> None:
    ours, other = str(uuid.uuid4()), str(uuid.uuid4())
    with (
        command(ours, "sleep 1000 & echo begun; wait") as killed,
        command(other, "echo begun; exec sleep 1000") as left,
    ):
        try:
            found = [os.pidfd_open(pid) for pid in commands_of(ours)]
            assert killed.pid in commands_of(ours)
            assert kill_commands(ours) == 2
            assert killed.wait(PATIENCE) != 0
            for process in found:  # a killed process is there until the kernel has got round to it
                assert select.select([process], [], [], 10)[0] == [process]
                os.close(process)
            assert left.poll() is None
        finally:
            left.kill()
            killed.kill()
    assert commands_of(ours) == set()
    assert kill_commands(ours) == 0


def test_where_processes_cannot_be_looked_at_none_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(processes, "PROC", "/no/such/folder")
    assert commands_of("any") == set()
