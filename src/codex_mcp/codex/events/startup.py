"""Pure. mcp_startup_update and mcp_startup_complete: the app-server reports each server, the second is their sum."""

from __future__ import annotations

from codex_mcp.codex.events.spelling import present
from codex_mcp.wire.app.notifications import ServerStatusUpdated


class Startup:
    """The MCP servers of one thread, as they start."""

    def __init__(self) -> None:
        self._servers: dict[str, ServerStatusUpdated] = {}
        self._told = False

    def status(self, note: ServerStatusUpdated) -> list[dict[str, object]]:
        """One server changed; when none is starting any more, the sum."""
        self._servers[note.name] = note
        state = present(state=note.status, error=note.error)
        update: dict[str, object] = {"type": "mcp_startup_update", "server": note.name, "status": state}
        if any(server.status == "starting" for server in self._servers.values()):
            return [update]
        return [update, self._complete()]

    def turn_started(self) -> list[dict[str, object]]:
        """Servers are named before the first turn starts: if none was, there are none, and the start-up is complete."""
        return [] if self._told or self._servers else [self._complete()]

    def _complete(self) -> dict[str, object]:
        self._told = True
        servers = self._servers.values()
        return {
            "type": "mcp_startup_complete",
            "ready": [server.name for server in servers if server.status == "ready"],
            "failed": [
                {"server": server.name, "error": server.error or ""} for server in servers if server.status == "failed"
            ],
            "cancelled": [server.name for server in servers if server.status == "cancelled"],
        }
