"""Pure. Addresses: `agent`, `agent@team`. Both names become parts of paths, so neither may leave the teams' folder."""

from __future__ import annotations

import re
from typing import Final

from msgspec import Struct

from codex_mcp.base.errors import Refused
from codex_mcp.base.settings.kinds import TEAM_NAME

LONGEST: Final = 64

_AGENT: Final = re.compile(rf"[A-Za-z0-9][A-Za-z0-9_-]{{0,{LONGEST - 1}}}")
"""Without a dot: `<agent>.<host>.json` is the mail of another machine, and `<file>.lock` a lock."""

_TEAM: Final = re.compile(TEAM_NAME)


class Address(Struct, frozen=True, order=True):
    """One inbox."""

    agent: str
    team: str

    def __str__(self) -> str:
        return f"{self.agent}@{self.team}"


def address_of(text: str, team: str) -> Address:
    """The address that a text names; without `@team` it is in this team. Raises Refused."""
    agent, at, named = text.partition("@")
    return checked(Address(agent, named if at else team))


def checked(address: Address) -> Address:
    """The same address. Raises Refused if one of its names cannot be used."""
    if not is_agent_name(address.agent):
        raise Refused(
            f"cannot use {address.agent[:LONGEST]!a} as the name of an agent: use up to {LONGEST} letters, digits, "
            "hyphens and underscores, beginning with a letter or digit"
        )
    if not is_team_name(address.team):
        raise Refused(
            f"cannot use {address.team[:LONGEST]!a} as the name of a team: use up to {LONGEST} letters, digits, dots, "
            "hyphens and underscores, beginning with a letter or digit"
        )
    return address


def is_agent_name(name: str) -> bool:
    return _AGENT.fullmatch(name) is not None


def is_team_name(name: str) -> bool:
    return _TEAM.fullmatch(name) is not None
