"""The pages of a server before anybody has opened them: what they need is loaded with the first request."""

from __future__ import annotations

from typing import TYPE_CHECKING

from codex_mcp.access.gate import Gate
from codex_mcp.dashboard.place import Place

if TYPE_CHECKING:
    from codex_mcp.access.access_control import AccessControl
    from codex_mcp.dashboard.site import Site
    from codex_mcp.transports.http import HttpExchange


class LatePages:
    def __init__(self, state_dir: str, codex_home: str, *, view: bool = False) -> None:
        """`view`: nobody can decide anything on them."""
        self._state_dir = state_dir
        self._codex_home = codex_home
        self._view = view
        self._place: Place | None = None
        self._site: Site | None = None
        self._address = ""

    @property
    def url(self) -> str:
        return f"{self._address}/ui" if self._address else ""

    def opened(self, access: AccessControl, address: str) -> None:
        """The server listens at this address from now on, and admits whom `access` admits."""
        tokens = None if access.open_to_all else access
        self._place = Place(self._state_dir, self._codex_home, Gate(hosts=access.hosts), tokens, self._view)
        self._address = address

    def sign_in(self, person: str, *, view: bool, writes_as: str = "") -> tuple[str, float]:
        """A link that signs this person in, who is the user of the server, and the seconds for which it works."""
        code, seconds = self._loaded().people.new_code(person, view=view, writes_as=writes_as)
        return f"{self.url}/sign-in?code={code}", seconds

    async def serve(self, http: HttpExchange) -> None:
        """Answer a request whose path is /ui, or below it."""
        await self._loaded().serve(http)

    def stop(self) -> None:
        """End what would keep the server from ending."""
        if self._site is not None:
            self._site.stop()

    async def aclose(self) -> None:
        if self._site is not None:
            await self._site.aclose()

    def _loaded(self) -> Site:
        assert self._place is not None, "nobody can connect before the server listens"
        if self._site is None:
            from codex_mcp.dashboard.site import Site  # noqa: PLC0415  most servers show nobody a page

            self._site = Site(self._place)
        return self._site
