"""What the control socket may use of its server."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import TYPE_CHECKING

from msgspec import Struct

if TYPE_CHECKING:
    from codex_mcp.base.settings.calls import CallSettings
    from codex_mcp.base.settings.environments import Environment
    from codex_mcp.base.settings.groups import Settings
    from codex_mcp.base.settings.team import TeamSettings
    from codex_mcp.mcp.methods import Methods
    from codex_mcp.mcp.pages import Pages
    from codex_mcp.mcp.session import ToolBox
    from codex_mcp.team.team import Team
    from codex_mcp.threads.threads import Threads


class Inside(Struct, frozen=True):
    """What a connection may use of its server."""

    methods: Methods
    tools: ToolBox
    reading_tools: Collection[str]
    """Names of the tools that change nothing."""
    all_settings: Settings
    team: Team
    threads: Threads
    pages: Pages | None = None

    @property
    def settings(self) -> TeamSettings:
        return self.all_settings.team

    @property
    def calls(self) -> CallSettings:
        return self.all_settings.calls

    @property
    def environments(self) -> Mapping[str, Environment]:
        """Places, besides this machine, where commands of agents can run."""
        return self.all_settings.core.environments
