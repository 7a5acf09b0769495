"""What a server needs of the dashboard that it serves, which is not loaded before somebody opens it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from codex_mcp.access.access_control import AccessControl
    from codex_mcp.transports.http import HttpExchange


class Pages(Protocol):
    @property
    def url(self) -> str:
        """Their address; empty while they cannot be opened."""

    def opened(self, access: AccessControl, address: str) -> None:
        """The server listens at this address from now on, and admits whom `access` admits."""

    def sign_in(self, person: str, *, view: bool, writes_as: str = "") -> tuple[str, float]:
        """A link that signs this person in, who is the user of the server, and the seconds for which it works."""

    async def serve(self, http: HttpExchange) -> None:
        """Answer a request whose path is /ui, or below it."""

    def stop(self) -> None:
        """End what would keep the server from ending."""

    async def aclose(self) -> None: ...


def is_page(path: str) -> bool:
    return path == "/ui" or path.startswith("/ui/")
