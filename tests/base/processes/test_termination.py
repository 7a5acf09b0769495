"""Processes that are meant are ended, wherever they are, and no others."""

import asyncio
import os

from codex_mcp.base.processes.marks import SERVED_BY, variables
from codex_mcp.base.processes.termination import end_processes


async def test_all_processes_that_are_meant_are_ended_with_their_children_and_no_others() -> None:
    mark = {SERVED_BY: os.urandom(8).hex()}
    # The shell and its child have the mark; what says so is the child, so both are there.
    meant = await asyncio.create_subprocess_exec(
        *("sh", "-c", "sh -c 'echo; sleep 1000' & wait"),
        stdout=asyncio.subprocess.PIPE,
        env={"PATH": os.defpath, **mark},
    )
    other = await asyncio.create_subprocess_exec("sleep", "1000", env={"PATH": os.defpath})
    assert meant.stdout is not None
    await meant.stdout.readline()
    try:
        assert await asyncio.to_thread(end_processes, lambda pid: variables(pid, (SERVED_BY,)) == mark) >= 2
        assert await meant.wait() == -9
        assert await meant.stdout.read() == b""  # which ends when its last writer does
        assert end_processes(lambda pid: variables(pid, (SERVED_BY,)) == mark) == 0
        assert other.returncode is None
    finally:
        other.kill()
        await other.wait()
