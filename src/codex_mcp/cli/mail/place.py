"""Who uses the mail, in which team, and where its files are."""

from __future__ import annotations

import argparse
import os
from collections.abc import Mapping
from typing import Final

from msgspec import Struct

from codex_mcp.base.principals import PERSON
from codex_mcp.config.load import load, teams_folder
from codex_mcp.mail.address import Address, checked
from codex_mcp.mail.store import MailStore

IDENTITY: Final = "ATM_IDENTITY"
"""Who uses the mail if --as does not say it; without both, PERSON."""


class Place(Struct, frozen=True):
    me: Address
    teams_dir: str
    state_dir: str

    def store(self) -> MailStore:
        return MailStore(self.teams_dir, self.state_dir)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--as", dest="identity", metavar="NAME", help=f"who you are (default: ${IDENTITY}, or {PERSON})"
    )
    parser.add_argument("--team", metavar="NAME", help="the team (default: as in the settings)")
    parser.add_argument("--json", action="store_true", help="print JSON")
    parser.add_argument("--state-dir", metavar="DIR", help="the state folder (default: as in the settings)")


def place_of(arguments: argparse.Namespace, environment: Mapping[str, str], cwd: str) -> Place:
    """Raises Refused and BadSetting."""
    flags = argparse.Namespace(team=arguments.team, state_dir=arguments.state_dir)
    settings = load(flags, environment, cwd).settings.team
    name = arguments.identity or environment.get(IDENTITY, "").strip() or PERSON
    return Place(checked(Address(name, settings.team)), teams_folder(environment), os.path.abspath(settings.state_dir))
