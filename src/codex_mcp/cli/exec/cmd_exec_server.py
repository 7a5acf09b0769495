"""`codex-mcp exec-server`: run processes and use files for an agent, on this machine or another."""

from __future__ import annotations

import argparse
import resource
import sys
from collections.abc import Callable, Mapping
from typing import Final

from codex_mcp.base.errors import Explained, Refused
from codex_mcp.base.processes.linux_features import check_linux
from codex_mcp.cli.exec.stderr_log import log_to_stderr
from codex_mcp.execserver.guard import run_guarded

DESCRIPTION: Final = "Run commands and read and write files for an agent. The first line printed is the address."

FAILED: Final = 1
USAGE_ERROR: Final = 2

LEAST_OPEN_FILES: Final = 32
"""The server itself needs 16; the rest are for a client and its processes."""

LEFT_OUT: Final = ("typing_extensions",)
"""Optional modules that libraries load if installed, without use here: 20 ms of a start."""


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "action", nargs="?", choices=("forward",), help="register the exec-server at --connect instead of serving"
    )
    parser.add_argument("--listen", default="ws://127.0.0.1:0", metavar="URL", help="ws://IP:PORT, or stdio")
    remote = parser.add_argument_group("remote mode", "register with a rendezvous instead of listening")
    remote.add_argument("--remote", metavar="URL", help="the rendezvous, such as https://relay.example.com")
    remote.add_argument("--environment-id", metavar="ID", help="the name under which harnesses reach this machine")
    remote.add_argument("--name", metavar="TEXT", help="a name for people, shown by codex-mcp environments")
    remote.add_argument("--token-file", metavar="FILE", help="a file with the token for the rendezvous")
    remote.add_argument(
        "--use-agent-identity-auth", action="store_true", help="register with the Agent Identity in CODEX_ACCESS_TOKEN"
    )
    remote.add_argument("--identity-file", metavar="FILE", help="keep the identity key here, so that it can be pinned")
    remote.add_argument("--remote-transport", choices=("noise",), default="noise", help="the only one: noise")
    remote.add_argument("--exit-on-stdin-close", action="store_true", help="stop when stdin, a pipe, is closed")
    forward = parser.add_argument_group("forward", "with --remote and --environment-id")
    forward.add_argument("--connect", metavar="URL", help="the running exec-server, such as ws://127.0.0.1:4512")
    forward.add_argument("--connect-token-file", metavar="FILE", help="a file with the token that it asks for")
    parser.add_argument(
        "--concurrent-requests",
        type=int,
        default=1,
        metavar="N",
        help="requests of one connection at a time (1)",
    )
    parser.add_argument("--ws-auth", choices=("capability-token", "signed-bearer-token"), help="authentication")
    parser.add_argument("--ws-token-file", metavar="FILE", help="capability-token: the file with the token")
    parser.add_argument("--ws-token-sha256", metavar="HEX", help="capability-token: the hash of the token")
    parser.add_argument("--ws-shared-secret-file", metavar="FILE", help="signed-bearer-token: the file with the secret")
    parser.add_argument("--ws-issuer", metavar="TEXT", help="signed-bearer-token: the required issuer")
    parser.add_argument("--ws-audience", metavar="TEXT", help="signed-bearer-token: the required audience")
    parser.add_argument(
        "--ws-max-clock-skew-seconds", type=int, metavar="N", help="signed-bearer-token: how far clocks may differ (30)"
    )
    parser.add_argument(
        "--log-level", choices=("error", "warning", "info", "debug"), default="warning", help="what is logged to stderr"
    )


def run(arguments: argparse.Namespace, environment: Mapping[str, str], cwd: str) -> int:
    def serve(lifeline: int) -> int:
        _prepare(arguments)
        from codex_mcp.execserver import startup  # noqa: PLC0415  in the child only: the guard stays small

        return _run(lambda: startup.run(arguments, environment, cwd, lifeline))

    if arguments.action == "forward":
        _prepare(arguments)
        from codex_mcp.execserver import startup  # noqa: PLC0415  as above; without processes it needs no guard

        return _run(lambda: startup.run_forward(arguments, environment))
    check_linux()  # before anything else is imported, which might not be possible here
    _check_open_files()
    try:
        return run_guarded(serve)
    except OSError as exc:
        raise Explained(f"cannot start a process: {exc}; check the limits of this process (ulimit -a)") from exc


def _prepare(arguments: argparse.Namespace) -> None:
    log_to_stderr(arguments.log_level)
    for name in LEFT_OUT:
        sys.modules[name] = None  # type: ignore[assignment]  # as if it were not installed


def _run(serve: Callable[[], None]) -> int:
    try:
        serve()
    except Refused as exc:
        return _failed(str(exc), USAGE_ERROR)
    except Explained as exc:
        return _failed(str(exc), FAILED)
    except OSError as exc:
        return _failed(f"cannot serve: {exc}; check the limits of this process (ulimit -a)", FAILED)
    return 0


def _failed(text: str, code: int) -> int:
    print(f"codex-mcp exec-server: {text}", file=sys.stderr, flush=True)
    return code


def _check_open_files() -> None:
    """With too few, libraries end the process without a message. Raises Refused."""
    limit = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
    if 0 <= limit < LEAST_OPEN_FILES:
        raise Refused(f"cannot serve with {limit} open files: at least {LEAST_OPEN_FILES} are needed (ulimit -n)")
