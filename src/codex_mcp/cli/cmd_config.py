"""`codex-mcp config`: every setting with its value and where the value came from."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Mapping
from typing import Final

from codex_mcp.cli.config_text import as_json, as_toml
from codex_mcp.cli.output import SCHEMA, print_json, print_text
from codex_mcp.config.load import add_arguments, load

DESCRIPTION: Final = "Show the settings of a server that would be started here, with these flags and variables."


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--show-origin", action="store_true", help="show where each value came from")
    parser.add_argument("--json", action="store_true", help="print JSON, with the origins")
    add_arguments(parser, with_team=True)


def run(arguments: argparse.Namespace, environment: Mapping[str, str], cwd: str) -> int:
    loaded = load(arguments, environment, cwd)
    if arguments.json:
        shown = as_json(loaded.sources, loaded.sourced_roles, loaded.warnings, loaded.environments)
        print_json({"schema": SCHEMA, **shown})
        return 0
    print_text(as_toml(loaded.sources, loaded.sourced_roles, loaded.environments, with_origin=arguments.show_origin))
    for warning in loaded.warnings:
        print(f"codex-mcp config: {warning}", file=sys.stderr)
    return 0
