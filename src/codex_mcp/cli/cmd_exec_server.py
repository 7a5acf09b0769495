"""`codex-mcp exec-server`: processes and files for an agent, here or on another machine."""

from __future__ import annotations

import argparse
import importlib
import logging
import sys
from collections.abc import Mapping
from typing import Final

from codex_mcp.base.errors import Refused
from codex_mcp.execserver.guard import run_guarded

DESCRIPTION: Final = "Run commands and read and write files for an agent. The first line printed is the address."

USAGE_ERROR: Final = 2

LEFT_OUT: Final = ("aiofastnet", "typing_extensions")
"""Modules that libraries load where they find them, for nothing that happens here: two megabytes, 25 ms of a start."""


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the command's flags."""
    parser.add_argument("--listen", default="ws://127.0.0.1:0", metavar="URL", help="ws://IP:PORT, or stdio")
    parser.add_argument(
        "--concurrent-requests", type=int, default=1, metavar="N", help="requests of one connection at once (1)"
    )
    parser.add_argument("--ws-auth", choices=("capability-token", "signed-bearer-token"), help="who may connect")
    parser.add_argument("--ws-token-file", metavar="FILE", help="capability-token: the file with the token")
    parser.add_argument("--ws-token-sha256", metavar="HEX", help="capability-token: the hash of the token")
    parser.add_argument("--ws-shared-secret-file", metavar="FILE", help="signed-bearer-token: the file with the secret")
    parser.add_argument("--ws-issuer", metavar="TEXT", help="signed-bearer-token: who must have signed")
    parser.add_argument("--ws-audience", metavar="TEXT", help="signed-bearer-token: whom it must be for")
    parser.add_argument(
        "--ws-max-clock-skew-seconds", type=int, metavar="N", help="signed-bearer-token: how far clocks may differ (30)"
    )
    parser.add_argument(
        "--log-level", choices=("error", "warning", "info", "debug"), default="warning", help="what goes to stderr"
    )


def run(arguments: argparse.Namespace, environment: Mapping[str, str], cwd: str) -> int:
    """Serve until told to stop."""

    def serve(lifeline: int) -> int:
        logging.basicConfig(level=arguments.log_level.upper(), stream=sys.stderr, format="%(levelname)s %(message)s")
        for name in LEFT_OUT:
            sys.modules[name] = None  # type: ignore[assignment]  # as if it were not installed
        # Not before there is a child: what both have in memory both have to pay for.
        starting = importlib.import_module("codex_mcp.execserver.starting")
        try:
            starting.run(arguments, environment, cwd, lifeline)
        except Refused as exc:
            print(f"codex-mcp exec-server: {exc}", file=sys.stderr)
            return USAGE_ERROR
        return 0

    run_guarded(serve)
