"""The Codex of a server that hangs is ended with its commands, and nothing else is."""

import asyncio
import os

from codex_mcp.base.processes.marks import SERVED_BY
from codex_mcp.codex.silent_server import end_codex_of

OURS = os.urandom(8).hex()
CODEX = ("codex", "app-server")


async def process(*arguments: str, **environment: str) -> asyncio.subprocess.Process:
    """A child that waits for a line, which looks as if it had been called with these arguments."""
    return await asyncio.create_subprocess_exec(
        *("sh", "-c", "read -r _", *arguments),
        stdin=asyncio.subprocess.PIPE,
        env={"PATH": os.defpath, **environment},
    )


async def test_only_the_codex_of_that_server_and_its_commands_are_ended() -> None:
    codex = await process(*CODEX, **{SERVED_BY: OURS})
    command = await process(**{SERVED_BY: OURS})
    others = [
        await process(*CODEX),
        await process(*CODEX, **{SERVED_BY: f"{OURS}0"}),
        await process(**{SERVED_BY: f"{OURS}0"}),
        await process(),
    ]
    try:
        assert end_codex_of(os.getppid(), OURS) == 0  # another server's child
        assert end_codex_of(os.getpid(), "") == 0
        assert (codex.returncode, command.returncode) == (None, None)
        assert await asyncio.to_thread(end_codex_of, os.getpid(), OURS) == 1
        assert (await codex.wait(), await command.wait()) == (-9, -9)
        assert end_codex_of(os.getpid(), OURS) == 0
        assert [each.returncode for each in others] == [None] * len(others)
    finally:
        for each in others:
            each.kill()
            await each.wait()
