"""`exec-server forward`: registers another exec-server, which runs already, and relays each stream to it.

Every stream has a connection of its own to that exec-server, and the messages pass unchanged. If the exec-server cannot
be reached or closes the connection, the stream is reset, and the harness resumes its session over another one.
"""

from __future__ import annotations

from urllib.parse import urlsplit

from codex_mcp.access.loopback import is_loopback
from codex_mcp.base.errors import Refused
from codex_mcp.execclient.connection import route_to
from codex_mcp.execclient.errors import CannotConnect
from codex_mcp.execclient.options import ExecServerClientConnectOptions
from codex_mcp.execclient.passage import Destination, Passages
from codex_mcp.relay.admission import MAX_STREAMS


def forwarder(url: str, token: str | None) -> Passages:
    """Serves streams with the exec-server at a ws:// or wss:// address. Raises Refused."""
    parts = urlsplit(url)
    if parts.scheme not in ("ws", "wss"):
        raise Refused(f"cannot forward to {url!r}: the address looks like ws://127.0.0.1:4512")
    if token is not None and parts.scheme == "ws" and not is_loopback(parts.hostname or ""):
        raise Refused(f"cannot send a token to {url}: it could be read on the way; use wss://, or 127.0.0.1")
    try:
        route = route_to(url, ExecServerClientConnectOptions(bearer_token=token))
    except CannotConnect as exc:
        raise Refused(str(exc)) from exc
    return Passages(Destination(route.dial, f"the exec-server {url}"), MAX_STREAMS)
