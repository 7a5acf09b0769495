"""`codex-mcp exec`: run a command on an exec-server, as if it ran here."""

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

from codex_mcp.base.errors import Refused
from codex_mcp.cli.exec.session import SIGNALLED, ExecSession, OutputLost
from codex_mcp.cli.exec.terminal import Streams
from codex_mcp.execclient.client import ExecServerClient
from codex_mcp.execclient.errors import ExecServerError, RequestRefused
from codex_mcp.execclient.options import ExecServerClientConnectOptions, Launch

DESCRIPTION: Final = "Run a command on an exec-server, as if it ran here."

URL_VARIABLE: Final = "CODEX_EXEC_SERVER_URL"

NOT_RUN: Final = 255
"""The exit code when the way to the command failed, not the command; the same as ssh's."""

CANNOT_RUN: Final = 127
"""The exit code when the server could not start the command; a shell says the same of one that it does not find."""


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the command's flags."""
    parser.add_argument("--url", help=f"the server, such as ws://127.0.0.1:4512 (default: ${URL_VARIABLE})")
    parser.add_argument("--token-file", metavar="FILE", help="the server's bearer token is in this file")
    parser.add_argument("--cwd", metavar="DIR", help="where to run it, on the server (default: the server's folder)")
    parser.add_argument(
        "--env", metavar="NAME=VALUE", action="append", default=[], help="set a variable for it; may be repeated"
    )
    terminal = parser.add_mutually_exclusive_group()
    terminal.add_argument("--tty", action="store_true", default=None, help="give it a terminal")
    terminal.add_argument("--no-tty", action="store_false", dest="tty", help="give it none, even from a terminal")
    parser.add_argument("argv", nargs="+", metavar="COMMAND", help="the command and its arguments, after --")


def run(arguments: argparse.Namespace, environment: Mapping[str, str], cwd: str) -> int:
    """Run it; return its exit code."""
    url = arguments.url or environment.get(URL_VARIABLE)
    if not url:
        raise Refused(f"cannot tell where to run it: say --url ws://HOST:PORT, or set {URL_VARIABLE}")
    for text in (*arguments.argv, *arguments.env):
        _check_text(text)
    options = ExecServerClientConnectOptions(bearer_token=_token(arguments.token_file))
    _log_to_stderr()
    try:
        return asyncio.run(_exec(url, options, _launch(arguments, environment), arguments.argv))
    except RequestRefused as exc:
        is_start = exc.method == "process/start"
        print(f"codex-mcp exec: {_not_started(arguments, exc) if is_start else exc}", file=sys.stderr)
        return CANNOT_RUN if is_start else NOT_RUN
    except (ExecServerError, OutputLost) as exc:
        print(f"codex-mcp exec: {exc}", file=sys.stderr)
        return NOT_RUN
    except KeyboardInterrupt:
        return SIGNALLED + signal.SIGINT  # before it ran: afterwards, ^C is the command's


async def _exec(url: str, options: ExecServerClientConnectOptions, launch: Launch, argv: list[str]) -> int:
    async with ExecServerClient(url, options) as client:
        process = await client.start(argv, launch)
        return await ExecSession(client, process, Streams()).run(launch)


def _not_started(arguments: argparse.Namespace, exc: RequestRefused) -> str:
    where = "" if arguments.cwd is None else f" in {arguments.cwd!r}"
    return f"cannot start {arguments.argv[0]!r}{where}: {exc.message}"


def _check_text(text: str) -> None:
    try:
        text.encode()
    except UnicodeEncodeError as exc:
        raise Refused(f"cannot hand on {text!r}: it is not UTF-8, and an exec-server takes nothing else") from exc


def _launch(arguments: argparse.Namespace, environment: Mapping[str, str]) -> Launch:
    tty = Streams().is_terminal if arguments.tty is None else bool(arguments.tty)
    terminal = {"TERM": environment["TERM"]} if tty and "TERM" in environment else {}
    return Launch(
        cwd=arguments.cwd,
        env={**terminal, **dict(map(_variable, arguments.env))},
        tty=tty,
        pipe_stdin=not tty and _has_input(Streams().stdin),
    )


def _variable(text: str) -> tuple[str, str]:
    name, equals, value = text.partition("=")
    if not name or not equals:
        raise Refused(f"cannot set {text!r}: a variable is given as NAME=VALUE")
    return name, value


def _has_input(fd: int) -> bool:
    """Not /dev/null, nor closed: then the command gets an empty input, which every server can give."""
    try:
        mode = os.fstat(fd)
    except OSError:
        return False
    return not (stat.S_ISCHR(mode.st_mode) and mode.st_rdev == os.stat(os.devnull).st_rdev)


def _token(path: str | None) -> str | None:
    if path is None:
        return None
    try:
        with open(path, encoding="utf-8") as file:
            return file.read().strip()
    except OSError as exc:
        raise Refused(f"cannot read the token file {path}: {exc.strerror}") from exc
    except UnicodeDecodeError as exc:
        raise Refused(f"cannot read the token file {path}: it is not UTF-8") from exc


def _log_to_stderr() -> None:
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(logging.Formatter("codex-mcp exec: %(message)s"))
    handler.terminator = "\r\n"  # the terminal may be raw; elsewhere it does no harm
    logging.basicConfig(level=logging.WARNING, handlers=[handler])
