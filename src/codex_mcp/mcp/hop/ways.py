"""How another server is reached: over its socket, if it is of our folder, or at the address that it has told."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from codex_mcp.base.blocking import in_thread
from codex_mcp.state.embedded.flock import lock_path

if TYPE_CHECKING:
    from collections.abc import Iterable

    from codex_mcp.access.cluster import Cluster
    from codex_mcp.control.server import Caller, Heard, Server
    from codex_mcp.state.contract import Node


class Ways:
    def __init__(self, state_dir: str, cluster: Cluster | None) -> None:
        self._state_dir = state_dir
        self._cluster = cluster

    async def leads_to(self, node: Node) -> bool:
        return await self._is_near(node) or self._address(node) is not None

    async def among(self, nodes: Iterable[Node]) -> list[Node]:
        """Those of these nodes that can be reached."""
        return [node for node in nodes if await self.leads_to(node)]

    async def opened(self, node: Node, caller: Caller, heard: Heard) -> Server:
        """A connection that its caller closes. Raises CannotReach."""
        from codex_mcp.control.server import open_connection  # noqa: PLC0415  with the first call that is forwarded

        name = f"server process {node.pid}"
        address = None if await self._is_near(node) else self._address(node)
        if address is None or self._cluster is None:
            return (await open_connection(self._state_dir, node.id, caller, name=name, heard=heard))[0]
        from codex_mcp.control.far import Far, open_far  # noqa: PLC0415  only between machines

        far = Far(address, self._cluster.key, node.id, f"{name} on {node.host}")
        return (await open_far(far, caller, heard))[0]

    async def _is_near(self, node: Node) -> bool:
        return await in_thread(os.path.exists, lock_path(self._state_dir, node.id))

    def _address(self, node: Node) -> str | None:
        return None if self._cluster is None else self._cluster.address_in(node.address)
