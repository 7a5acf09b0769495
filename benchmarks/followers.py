"""`python -m benchmarks.followers STATE_DIR COUNT`: connections that follow everything of the only server there."""

from __future__ import annotations

import asyncio
import contextlib
import sys

from codex_mcp.control.server import Caller, connect_server, living_nodes
from codex_mcp.wire import control

TOPICS = (control.AGENTS, control.QUESTIONS, control.MAIL, control.ENVIRONMENTS, control.HEALTH)


async def follow(state_dir: str, count: int) -> None:
    """Until stdin ends."""
    (node,) = living_nodes(state_dir)
    async with contextlib.AsyncExitStack() as stack:
        for _ in range(count):
            caller = Caller(program="benchmarks", person="", view=True)
            server, _greeting = await stack.enter_async_context(connect_server(state_dir, node, caller))
            await server.follow(TOPICS)
        sys.stdout.write("ready\n")
        sys.stdout.flush()
        await asyncio.to_thread(sys.stdin.read)


if __name__ == "__main__":
    asyncio.run(follow(sys.argv[1], int(sys.argv[2])))
