"""Where the files of the teams are: `<teams>/<team>/config.json` and `<teams>/<team>/inboxes/<agent>.json`."""

from __future__ import annotations

import os
from typing import Final

from codex_mcp.mail.address import Address, is_agent_name, is_team_name

CONFIG: Final = "config.json"
INBOXES: Final = "inboxes"
SUFFIX: Final = ".json"


class Layout:
    """The folder of all teams. Addresses must be checked before they come here."""

    def __init__(self, teams_dir: str) -> None:
        self.teams_dir = teams_dir

    def config(self, team: str) -> str:
        return os.path.join(self.teams_dir, team, CONFIG)

    def inboxes(self, team: str) -> str:
        return os.path.join(self.teams_dir, team, INBOXES)

    def inbox(self, address: Address) -> str:
        return os.path.join(self.inboxes(address.team), address.agent + SUFFIX)

    def draft(self, address: Address, message_id: str) -> str:
        """Where a new version of an inbox is prepared; named as Claude Code names its own."""
        return f"{self.inbox(address)}.tmp.{message_id}"

    def teams(self) -> list[str]:
        """The teams that have a folder."""
        return [name for name in _names(self.teams_dir) if is_team_name(name) and self.has_team(name)]

    def has_team(self, team: str) -> bool:
        return os.path.isdir(os.path.join(self.teams_dir, team))

    def agents(self, team: str) -> list[str]:
        """The agents of a team that have an inbox."""
        files = (name for name in _names(self.inboxes(team)) if name.endswith(SUFFIX))
        return [agent for name in files if is_agent_name(agent := name.removesuffix(SUFFIX))]


def _names(folder: str) -> list[str]:
    try:
        return sorted(os.listdir(folder))
    except (FileNotFoundError, NotADirectoryError):
        return []
