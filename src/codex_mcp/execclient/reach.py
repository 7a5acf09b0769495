"""How one Codex reaches an environment: directly, or over a bridge if the executor is behind a rendezvous."""

from __future__ import annotations

import contextlib
from collections.abc import AsyncIterator

from codex_mcp.base.errors import Refused
from codex_mcp.base.settings.environments import Environment
from codex_mcp.codex.core import CoreError
from codex_mcp.codex.environments import Entrance, reach_directly


@contextlib.asynccontextmanager
async def reach(environment: Environment) -> AsyncIterator[Entrance]:
    """Raises CoreError."""
    async with reach_directly(environment) as door:
        if not environment.is_relayed:
            yield door
            return
        # Few servers need these, and their cryptography takes long to load.
        from codex_mcp.execclient.bridge import Bridge  # noqa: PLC0415
        from codex_mcp.execclient.errors import CannotConnect  # noqa: PLC0415
        from codex_mcp.execclient.relay_route import RelayAddress  # noqa: PLC0415

        try:
            address = RelayAddress(environment.url, door.token, environment.pin)
        except (CannotConnect, Refused) as exc:
            raise CoreError(str(exc)) from exc
        async with Bridge(address.dial) as bridge:
            yield Entrance(bridge.url, bridge.token, bridge.problem)
