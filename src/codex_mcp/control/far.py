"""A connection to a server of the cluster that is not of this folder: at the address that it tells the others."""

from __future__ import annotations

from typing import Final
from urllib.parse import urlsplit

from msgspec import Struct

from codex_mcp.access.cluster import CONTROL, HOP, proof
from codex_mcp.control import failures
from codex_mcp.control.server import Caller, Ends, Heard, Server, greet
from codex_mcp.transports.websockets.dialled import DialledSocket, HandshakeRefused, dial
from codex_mcp.wire import control

PATIENCE: Final = 2.0
"""Seconds for a connection with TLS between two data centres."""

NOT_PROVED: Final = 401


class Far(Struct, frozen=True):
    """Where a server of the cluster is."""

    url: str
    key: bytes
    """Of the cluster."""
    node: str
    name: str
    """How a person knows it: `server process 4711 on agents-2`."""


async def open_far(far: Far, caller: Caller, heard: Heard) -> tuple[Server, control.Greeting]:
    """A connection that its caller closes. Raises CannotReach."""
    url, name = far.url, far.name
    try:
        channel = await _dial(url, far.key, far.node, caller.node)
    except TimeoutError:
        raise failures.silent(name, PATIENCE) from None
    except (HandshakeRefused, OSError) as exc:
        raise failures.no_way(name, url, str(exc)) from exc
    return await greet(Server(far.node, name, channel, heard, Ends()), caller)


async def _dial(url: str, key: bytes, node: str, own: str) -> DialledSocket:
    """It answers a first request with a challenge. Raises OSError, TimeoutError, HandshakeRefused."""
    place = urlsplit(url)
    socket = f"{'wss' if place.scheme == 'https' else 'ws'}://{place.netloc}{place.path.rstrip('/')}{CONTROL}"
    try:
        return await dial(socket, {}, PATIENCE)
    except HandshakeRefused as exc:
        if exc.status != NOT_PROVED:
            raise
        challenge = exc.body.decode(errors="replace")
    return await dial(socket, {HOP: proof(key, challenge, own, node)}, PATIENCE)
