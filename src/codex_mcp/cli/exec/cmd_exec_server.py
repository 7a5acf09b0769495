"""`codex-mcp exec-server`: processes and files for an agent, here or on another machine."""

from __future__ import annotations

import argparse
import importlib
import logging
import resource
import sys
from collections.abc import Mapping
from typing import Final

from codex_mcp.base.errors import Explained, Refused
from codex_mcp.execserver.guard import run_guarded

DESCRIPTION: Final = "Run commands and read and write files for an agent. The first line printed is the address."

FAILED: Final = 1
USAGE_ERROR: Final = 2

LEAST_OPEN_FILES: Final = 32
"""The server itself needs 16; the rest are for a client and its processes."""

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
            return _told(str(exc), USAGE_ERROR)
        except Explained as exc:
            return _told(str(exc), FAILED)
        except OSError as exc:
            return _told(f"cannot serve: {exc}; look at the limits of this process (ulimit -a)", FAILED)
        return 0

    _check_open_files()
    try:
        run_guarded(serve)
    except OSError as exc:
        raise Explained(f"cannot start a process: {exc}; look at the limits of this process (ulimit -a)") from exc


def _told(text: str, code: int) -> int:
    print(f"codex-mcp exec-server: {text}", file=sys.stderr, flush=True)
    return code


def _check_open_files() -> None:
    """With too few, libraries end the process without a word. Raises Refused."""
    limit = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
    if 0 <= limit < LEAST_OPEN_FILES:
        raise Refused(f"cannot serve with {limit} open files: at least {LEAST_OPEN_FILES} are needed (ulimit -n)")
