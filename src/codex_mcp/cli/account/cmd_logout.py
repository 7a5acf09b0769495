"""`codex-mcp logout`: remove the sign-in of the Codex that servers run here."""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from typing import Final

from codex_mcp.cli.account.codex_program import add_codex_arguments, replace_with_codex

DESCRIPTION: Final = "Remove the sign-in from Codex's folder, for all servers that use this folder."


def configure(parser: argparse.ArgumentParser) -> None:
    add_codex_arguments(parser)


def run(arguments: argparse.Namespace, environment: Mapping[str, str], cwd: str) -> int:
    replace_with_codex(["logout"], arguments, environment, cwd)
