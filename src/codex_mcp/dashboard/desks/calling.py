"""Calls a tool at the server of an agent, for the principal whose agent it is."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping

from codex_mcp.base.errors import Refused
from codex_mcp.base.printable import foreign
from codex_mcp.control.failures import CannotReach
from codex_mcp.control.server import Caller, Server, connect_server
from codex_mcp.dashboard.desks.done import Done
from codex_mcp.rpc.errors import RequestFailed
from codex_mcp.wire import control

LONGEST: int = 1000
"""Characters of a refusal."""


async def call_tool(
    state_dir: str, node: str, principal: str, caller: Caller, called: tuple[str, Mapping[str, object]]
) -> Done:
    """`called` is the tool with its arguments."""
    acts_for = control.ActsFor(principal=principal, person=caller.person, via=caller.program)

    async def told(server: Server) -> None:
        result = await server.call_tool(*called, acts_for)
        if result.is_error:
            raise Refused(foreign(" ".join(result.texts), LONGEST))

    return await tell(state_dir, node, caller, told)


async def tell(state_dir: str, node: str, caller: Caller, do: Callable[[Server], Awaitable[None]]) -> Done:
    """Do something at a server."""
    if not node:
        return Done(503, "No server runs that could take it.")
    try:
        async with connect_server(state_dir, node, caller) as (server, _):
            await do(server)
    except CannotReach as exc:
        return Done(503, str(exc))
    except (Refused, RequestFailed) as exc:
        return Done(422, str(exc))
    return Done()
