"""The guard ends what has the mark of its server once the server is gone, and nothing else."""

import asyncio
import os

from codex_mcp.base.processes.marks import SERVED_BY
from codex_mcp.codex.guard import start_guard
from tests.support.patience import PATIENCE


async def sleeper(**environment: str) -> asyncio.subprocess.Process:
    return await asyncio.create_subprocess_exec("sleep", "1000", env={"PATH": os.defpath, **environment})


async def test_processes_with_the_mark_end_with_the_server_and_others_do_not() -> None:
    mark = os.urandom(8).hex()
    marked, longer, other = (
        await sleeper(**{SERVED_BY: mark}),
        await sleeper(**{SERVED_BY: f"{mark}0"}),
        await sleeper(),
    )
    guard = await start_guard(mark)
    assert guard is not None
    await guard.aclose()  # as the end of the server does
    async with asyncio.timeout(PATIENCE):
        assert await marked.wait() == -9
        assert (await guard.wait()).code == 0
    assert (longer.returncode, other.returncode) == (None, None)
    for process in (longer, other):
        process.kill()
        await process.wait()
