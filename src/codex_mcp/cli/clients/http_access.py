"""Finds out whether a server answers at an address, and how a client proves who it is there.

The token of a server on this machine (`serve --generate-token`) is taken from our own folder, but only if the program
that listens there is the user's: another user could otherwise collect the token on a port of their own.
"""

from __future__ import annotations

import argparse
import contextlib
import http.client
import os
import ssl
import stat
import time
from collections.abc import Mapping
from enum import Enum, auto
from typing import Final
from urllib.parse import urlsplit

from codex_mcp.access.loopback import is_loopback
from codex_mcp.access.token_files import read_token_file
from codex_mcp.base.errors import Refused
from codex_mcp.cli.clients.known import Folders, Place, Scope
from codex_mcp.cli.clients.own_entry import Address, token_fields, variable_fields
from codex_mcp.cli.clients.own_folder.lock import own_folder
from codex_mcp.cli.clients.surroundings import short
from codex_mcp.cli.sentences import complain

PROBE: Final = b'{"jsonrpc":"2.0","id":1,"method":"ping"}'
TIMEOUT: Final = 10.0
START_PATIENCE: Final = 3.0
"""Seconds for a server of this machine that has just been started, as a service or in another window."""

PAUSE: Final = 0.1
UNAUTHORIZED: Final = 401
NOT_FOUND: Final = 404


class Answer(Enum):
    """What an address says."""

    SERVES = auto()
    WANTS_TOKEN = auto()
    IS_OTHER = auto()
    """Something answers, but not an MCP server."""

    SILENT = auto()


ANSWERS: Final = {
    Answer.SERVES: "answers",
    Answer.WANTS_TOKEN: "answers",
    Answer.IS_OTHER: "something else answers there",
    Answer.SILENT: "nothing answers there",
}
"""For people."""


def reached(arguments: argparse.Namespace, here: Place, where: Folders, environment: Mapping[str, str]) -> Address:
    """The address as the client must have it. Warns if nothing answers there. Raises Refused if the token is wrong."""
    url: str = arguments.http
    if arguments.token_env is not None:
        token = environment.get(arguments.token_env)
        if token is None:
            _warn(f"{arguments.token_env} is not set here, so the connection was not tried")
        else:
            _check(url, token, f"the token in {arguments.token_env}")
        return Address(url, variable_fields(here.client, arguments.token_env))
    if arguments.token_file is not None:
        token = read_token_file(arguments.token_file)
        _check(url, token, f"the token in {arguments.token_file}")
        return Address(url, _fields_of(here, token))
    answer = _asked_patiently(url, None)
    if answer is not Answer.WANTS_TOKEN:
        _say(url, answer)
        return Address(url)
    return Address(url, _fields_of(here, _own_token(url, where)))


def _fields_of(here: Place, token: str) -> Mapping[str, object]:
    if here.scope is Scope.PROJECT:
        raise Refused(
            f"cannot put a token into {here.file}: everyone who works in this project would get it; name a variable "
            "that holds it with --token-env"
        )
    with contextlib.suppress(OSError):
        if os.stat(here.file).st_mode & stat.S_IROTH:
            _warn(f"every user of this machine can read {here.file}, which has the token now; run chmod 600 on it")
    return token_fields(here.client, token)


def _own_token(url: str, where: Folders) -> str:
    """The token of a server that this user runs here. Raises Refused."""
    file = f"{own_folder(where)}/token"
    give = "give its token with --token-file FILE or --token-env NAME"
    address = urlsplit(url)
    if not is_loopback(address.hostname or "") or not os.path.exists(file):
        raise Refused(f"cannot connect to {url}: the server wants a token; {give}")
    if not _is_mine(address.port or 80):
        raise Refused(f"cannot connect to {url}: the server wants a token, and is not known to be yours; {give}")
    token = read_token_file(file)
    if asked(url, token) is not Answer.SERVES:
        shown = short(file, where.home)
        raise Refused(f"cannot connect to {url}: the server wants a token, and not the one in {shown}; {give}")
    return token


def _check(url: str, token: str, what: str) -> None:
    answer = _asked_patiently(url, token)
    if answer is Answer.WANTS_TOKEN:
        raise Refused(f"cannot connect to {url}: the server does not accept {what}; give the right one")
    _say(url, answer)


def _say(url: str, answer: Answer) -> None:
    if answer is Answer.SILENT:
        _warn(f"nothing answers at {url}; start the server before the client")
    elif answer is Answer.IS_OTHER:
        _warn(f"what answers at {url} is no MCP server; the address of codex-mcp ends in /mcp")


def _warn(text: str) -> None:
    complain("install", text)


def _asked_patiently(url: str, token: str | None) -> Answer:
    deadline = time.monotonic() + (START_PATIENCE if is_loopback(urlsplit(url).hostname or "") else 0.0)
    while (answer := asked(url, token)) is Answer.SILENT and time.monotonic() < deadline:
        time.sleep(PAUSE)
    return answer


def asked(url: str, token: str | None) -> Answer:
    """Send a ping. A server without a session for it refuses it, but only after it has looked at the token."""
    address = urlsplit(url)
    headers = {"Content-Type": "application/json", "Accept": "application/json, text/event-stream"}
    if token is not None:
        headers["Authorization"] = f"Bearer {token}"
    kind = http.client.HTTPSConnection if address.scheme == "https" else http.client.HTTPConnection
    try:
        connection = kind(address.hostname or "", address.port, timeout=TIMEOUT)
    except (ValueError, http.client.InvalidURL) as exc:
        raise Refused(f"cannot use --http {url}: {exc}") from exc
    with contextlib.closing(connection):
        try:
            connection.request("POST", address.path or "/", PROBE, headers)
            response = connection.getresponse()
            body = response.read(1 << 16)
        except ssl.SSLError as exc:
            _warn(f"the certificate of {url} is not trusted here ({exc.reason}); the client may refuse it as well")
            return Answer.SERVES
        except (OSError, http.client.HTTPException, ValueError):
            return Answer.SILENT
    if response.status == UNAUTHORIZED:
        return Answer.WANTS_TOKEN
    return Answer.SERVES if b'"jsonrpc"' in body and response.status != NOT_FOUND else Answer.IS_OTHER


def _is_mine(port: int) -> bool:
    """Whether a program of this user listens on this port; False if the system does not say."""
    owners: set[int] = set()
    for table in ("tcp", "tcp6"):
        with contextlib.suppress(OSError), open(f"/proc/net/{table}", encoding="ascii") as file:
            for line in file.readlines()[1:]:
                fields = line.split()
                if fields[3] == "0A" and int(fields[1].rpartition(":")[2], 16) == port:
                    owners.add(int(fields[7]))
    return owners == {os.geteuid()}
