"""Asks the running servers of a state folder whether their account has reached its usage limit."""

from __future__ import annotations

import contextlib
from collections.abc import Mapping
from typing import Final

from codex_mcp.base.principals import LOCAL
from codex_mcp.cli.doctor.facts import Limited
from codex_mcp.cli.people.finding import caller_of
from codex_mcp.control.failures import CannotReach
from codex_mcp.control.server import connect_server, living_nodes
from codex_mcp.rpc.errors import RequestFailed
from codex_mcp.wire import control

COMMAND: Final = "doctor"


async def account_limits(state_dir: str, environment: Mapping[str, str]) -> tuple[Limited, ...]:
    """Servers whose account takes no requests. One that cannot be asked is left out."""
    found = []
    caller = caller_of(COMMAND, environment)
    for node in living_nodes(state_dir):
        with contextlib.suppress(CannotReach, RequestFailed):
            async with connect_server(state_dir, node, caller) as (server, greeting):
                acts_for = control.ActsFor(principal=LOCAL, person=caller.person)
                status = (await server.call_tool("codex_status", {}, acts_for)).data
                if status.get("account_limited"):
                    found.append(Limited(greeting.pid, status.get("account_paused_until")))
    return tuple(found)
