"""`codex-mcp exec`: run a command on an exec-server as if it were local."""

from __future__ import annotations

import argparse
import asyncio
import logging
import os
import signal
import stat
import sys
from collections.abc import Mapping
from typing import Final
from urllib.parse import quote

from codex_mcp.base.errors import Refused
from codex_mcp.base.printable import one_line
from codex_mcp.cli.exec.rendezvous_flags import add_rendezvous_arguments, read_token, rendezvous_of
from codex_mcp.cli.exec.session import SIGNALLED, ExecSession, OutputLost
from codex_mcp.cli.exec.stderr_log import OneLine
from codex_mcp.cli.exec.terminal import StandardStreams
from codex_mcp.cli.parser import COMMAND_WORDS
from codex_mcp.execclient.client import ExecServerClient
from codex_mcp.execclient.errors import ExecServerError, RequestRefused
from codex_mcp.execclient.options import ExecServerClientConnectOptions, StartOptions

DESCRIPTION: Final = "Run a command on an exec-server as if it were local."

URL_VARIABLE: Final = "CODEX_EXEC_SERVER_URL"

NOT_RUN: Final = 255
"""The exit code when the server could not be reached or was lost; the same as ssh's."""

CANNOT_RUN: Final = 127
"""The exit code when the server could not start the command; the same as a shell's for an unknown command."""


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--url", help=f"the server, such as ws://127.0.0.1:4512 (default: ${URL_VARIABLE})")
    parser.add_argument("--environment", metavar="ID", help="an executor behind a rendezvous, instead of --url")
    parser.add_argument("--pin", metavar="FINGERPRINT", help="with --environment: refuse any other executor")
    add_rendezvous_arguments(parser)
    parser.add_argument("--cwd", metavar="DIR", help="working folder on the server (default: the server's own)")
    parser.add_argument(
        "--env", metavar="NAME=VALUE", action="append", default=[], help="set an environment variable; may be repeated"
    )
    terminal = parser.add_mutually_exclusive_group()
    terminal.add_argument("--tty", action="store_true", default=None, help="run the command on a terminal")
    terminal.add_argument("--no-tty", action="store_false", dest="tty", help="run it without one")
    help_text = "the command and its arguments; write -- before them if one of them begins with a dash"
    parser.add_argument("argv", nargs="+", metavar=COMMAND_WORDS, help=help_text)


def run(arguments: argparse.Namespace, environment: Mapping[str, str], cwd: str) -> int:
    url, token = _server(arguments, environment)
    for text in (*arguments.argv, *arguments.env):
        _check_text(text)
    options = ExecServerClientConnectOptions(bearer_token=token, pin=arguments.pin)
    _log_to_stderr()
    try:
        return asyncio.run(_exec(url, options, _start_options(arguments, environment), arguments.argv))
    except RequestRefused as exc:
        is_start = exc.method == "process/start"
        print(f"codex-mcp exec: {one_line(_not_started(arguments, exc) if is_start else str(exc))}", file=sys.stderr)
        return CANNOT_RUN if is_start else NOT_RUN
    except (ExecServerError, OutputLost) as exc:
        print(f"codex-mcp exec: {one_line(str(exc))}", file=sys.stderr)
        return NOT_RUN
    except KeyboardInterrupt:
        return SIGNALLED + signal.SIGINT  # before the command ran; later, ^C goes to the command


def _server(arguments: argparse.Namespace, environment: Mapping[str, str]) -> tuple[str, str | None]:
    """The server's address and token. Raises Refused."""
    if arguments.environment is not None:
        if arguments.url is not None:
            raise Refused("cannot use --url with --environment: the rendezvous knows where the executor is")
        rendezvous, token = rendezvous_of(arguments, environment)
        return f"relay+{rendezvous.rstrip('/')}/{quote(arguments.environment, safe='')}", token
    url = arguments.url or environment.get(URL_VARIABLE)
    if not url:
        raise Refused(f"cannot run the command: no server given; use --url ws://HOST:PORT or set {URL_VARIABLE}")
    return url, read_token(arguments.token_file)


async def _exec(url: str, options: ExecServerClientConnectOptions, start: StartOptions, argv: list[str]) -> int:
    async with ExecServerClient(url, options) as client:
        process = await client.start(argv, start)
        return await ExecSession(client, process, StandardStreams()).run(start)


def _not_started(arguments: argparse.Namespace, exc: RequestRefused) -> str:
    where = "" if arguments.cwd is None else f" in {arguments.cwd!r}"
    return f"cannot start {arguments.argv[0]!r}{where}: {exc.message}"


def _check_text(text: str) -> None:
    try:
        text.encode()
    except UnicodeEncodeError as exc:
        raise Refused(f"cannot send {text!r}: it is not UTF-8, and an exec-server accepts nothing else") from exc


def _start_options(arguments: argparse.Namespace, environment: Mapping[str, str]) -> StartOptions:
    tty = StandardStreams().is_terminal if arguments.tty is None else bool(arguments.tty)
    terminal = {"TERM": environment["TERM"]} if tty and "TERM" in environment else {}
    return StartOptions(
        cwd=arguments.cwd,
        env={**terminal, **dict(map(_variable, arguments.env))},
        tty=tty,
        pipe_stdin=not tty and _has_input(StandardStreams().stdin),
    )


def _variable(text: str) -> tuple[str, str]:
    name, equals, value = text.partition("=")
    if not name or not equals:
        raise Refused(f"cannot set {text!r}: give a variable as NAME=VALUE")
    return name, value


def _has_input(fd: int) -> bool:
    """Whether stdin is neither closed nor /dev/null. Without input, the command runs on any server."""
    try:
        mode = os.fstat(fd)
    except OSError:
        return False
    return not (stat.S_ISCHR(mode.st_mode) and mode.st_rdev == os.stat(os.devnull).st_rdev)


def _log_to_stderr() -> None:
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(OneLine("codex-mcp exec: %(message)s"))
    handler.terminator = "\r\n"  # the terminal may be in raw mode; elsewhere it does no harm
    logging.basicConfig(level=logging.WARNING, handlers=[handler])
