"""`codex-mcp environments`: the executors that a rendezvous knows, as far as the token may see them."""

from __future__ import annotations

import argparse
import asyncio
import sys
from collections.abc import Mapping
from typing import Final

from codex_mcp.base.errors import Explained
from codex_mcp.base.timestamps import format_timestamp
from codex_mcp.cli.exec.rendezvous_flags import add_rendezvous_arguments, rendezvous_of
from codex_mcp.cli.output import SCHEMA, print_json, print_table
from codex_mcp.relay.registry_client import RegistryClient

DESCRIPTION: Final = "List the executors that a rendezvous knows, and whether they are connected."

TITLES: Final = ("ENVIRONMENT", "STATE", "STREAMS", "PRINCIPAL", "NAME", "REGISTERED", "FINGERPRINT")


def configure(parser: argparse.ArgumentParser) -> None:
    add_rendezvous_arguments(parser)
    parser.add_argument("--json", action="store_true", help="print JSON")


def run(arguments: argparse.Namespace, environment: Mapping[str, str], cwd: str) -> int:
    url, token = rendezvous_of(arguments, environment)
    try:
        entries = asyncio.run(RegistryClient(url, token).environments())
    except OSError as exc:
        raise Explained(f"cannot list the environments: {exc}") from exc
    if arguments.json:
        print_json({"schema": SCHEMA, "environments": entries})
        return 0
    rows = [
        [
            each.environment_id,
            "online" if each.is_online else "offline",
            str(each.streams),
            each.principal,
            each.name,
            format_timestamp(each.registered_at),
            each.fingerprint,
        ]
        for each in entries
    ]
    if not rows:
        print("codex-mcp environments: there are none that this token may register or reach", file=sys.stderr)
        return 0
    print_table(TITLES, rows, whole=1, optional=("FINGERPRINT", "REGISTERED", "NAME"))
    return 0
