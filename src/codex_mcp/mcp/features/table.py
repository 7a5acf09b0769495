"""The methods of these features for a server. Their modules are loaded with the first request that needs them, because
most clients of a stdio server only call tools, and the server starts sooner."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Final

from codex_mcp.base.settings.groups import Settings
from codex_mcp.mcp.method_rows import Home, answered_by
from codex_mcp.mcp.methods import Exchange, Handler
from codex_mcp.threads.threads import Threads

if TYPE_CHECKING:
    from codex_mcp.mcp.features.service import Features
    from codex_mcp.mcp.resources.mailboxes import Mailboxes
    from codex_mcp.team.team import Team

CAPABILITIES: Final[Mapping[str, object]] = {
    "prompts": {"listChanged": True},
    "resources": {"subscribe": True, "listChanged": True},
    "completions": {},
    "logging": {},
}


class LateFeatures:
    def __init__(self, threads: Threads, settings: Settings, team: Team | None = None) -> None:
        self._threads = threads
        self._settings = settings
        self._team = team
        self._features: Features | None = None

    def table(self) -> dict[str, Handler]:
        return dict.fromkeys(answered_by(Home.FEATURES), self._handle)

    def logged(self, exchange: Exchange, level: object, handler: Handler) -> object:
        """Handle a stateless request whose client wants log messages of this level."""
        return self._loaded().logging.during(exchange, level, handler)

    def _handle(self, exchange: Exchange) -> object:
        return self._loaded().handle(exchange)

    def _loaded(self) -> Features:
        if self._features is None:
            from codex_mcp.mcp.features.service import Features  # noqa: PLC0415  see above

            self._features = Features(self._threads, self._settings, self._mailboxes())
        return self._features

    def _mailboxes(self) -> Mailboxes | None:
        if self._team is None:
            return None
        from codex_mcp.mcp.resources.mailboxes import Mailboxes  # noqa: PLC0415  only for a team

        return Mailboxes(self._team)
