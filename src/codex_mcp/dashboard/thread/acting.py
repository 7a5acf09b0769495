"""What a person does with an agent: the existing tools, called on the server that runs it, for its principal."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Final

from msgspec import Struct

from codex_mcp.base.printable import foreign, visible
from codex_mcp.base.tasks import TaskSet
from codex_mcp.control.failures import CannotReach
from codex_mcp.control.server import Caller, connect_server
from codex_mcp.dashboard.fleet import Fleet
from codex_mcp.dashboard.views.facts import AgentFacts
from codex_mcp.rpc.errors import INVALID, RequestFailed
from codex_mcp.wire import control

PATIENCE: Final = 4.0
"""Seconds that a page waits for a tool; it goes on without the page."""

VIA: Final = "page"

NO_SERVER: Final = "No server runs that could do this. Start one, for instance with your client, and try again."
TAKES_LONGER: Final = "It takes longer than a moment; this page will show what becomes of it."


class Done(Struct, frozen=True):
    ok: bool
    text: str
    status: int = 200


class Acting:
    def __init__(self, state_dir: str) -> None:
        self._state_dir = state_dir
        self._tasks = TaskSet()

    async def aclose(self) -> None:
        await self._tasks.aclose()

    async def call(
        self, fleet: Fleet, agent: AgentFacts, caller: Caller, tool: str, arguments: Mapping[str, object]
    ) -> Done:
        nodes = fleet.servers()
        node = agent.node if agent.status == "active" and agent.node else next(iter(nodes), "")
        if not node:
            return Done(ok=False, text=NO_SERVER, status=409)
        acts_for = control.ActsFor(principal=agent.principal, person=caller.person, via=VIA)
        calling = self._tasks.spawn(self._call(node, caller, tool, arguments, acts_for), name=f"{tool} of a page")
        await asyncio.wait([calling], timeout=PATIENCE)
        return calling.result() if calling.done() else Done(ok=True, text=TAKES_LONGER)

    async def _call(
        self, node: str, caller: Caller, tool: str, arguments: Mapping[str, object], acts_for: control.ActsFor
    ) -> Done:
        try:
            async with connect_server(self._state_dir, node, caller) as (server, _):
                result = await server.call_tool(tool, arguments, acts_for)
        except CannotReach as exc:
            return Done(ok=False, text=f"Not done: {exc}.", status=503)
        except RequestFailed as exc:
            return Done(ok=False, text=f"Refused: {foreign(str(exc).removeprefix(INVALID))}", status=409)
        text = visible("\n".join(result.texts))
        return Done(ok=False, text=text, status=409) if result.is_error else Done(ok=True, text=text)
