"""The ways to a server: a WebSocket; whatever else makes a channel fits as well."""

from __future__ import annotations

from dataclasses import dataclass
from http import HTTPStatus
from urllib.parse import urlsplit

from codex_mcp.execclient.errors import CannotConnect
from codex_mcp.execclient.link import Dial
from codex_mcp.execclient.options import ExecServerClientConnectOptions
from codex_mcp.rpc.channel import Channel
from codex_mcp.transports.dialled_socket import HandshakeRefused, dial


@dataclass(frozen=True, slots=True)
class Route:
    """How to make a channel to a server, and whether it can be made again after a loss."""

    dial: Dial
    can_resume: bool = True


def route_to(url: str, options: ExecServerClientConnectOptions) -> Route:
    """The route to a ws:// or wss:// URL."""
    if not _is_address(url):
        raise CannotConnect(f"cannot connect to {url!r}: an exec-server's address looks like ws://127.0.0.1:4512")
    headers = {"Authorization": f"Bearer {options.bearer_token}"} if options.bearer_token else {}

    async def dial_websocket() -> Channel:
        try:
            return await dial(url, headers, options.connect_timeout)
        except ValueError as exc:
            raise CannotConnect(str(exc)) from exc
        except HandshakeRefused as exc:
            if exc.status >= HTTPStatus.INTERNAL_SERVER_ERROR:
                raise ConnectionError(f"the server is not ready: {exc}") from exc
            raise CannotConnect(f"cannot connect to {url}: the server refuses with {exc}") from exc

    return Route(dial_websocket)


def _is_address(url: str) -> bool:
    try:
        return url.startswith(("ws://", "wss://")) and urlsplit(url).port != 0
    except ValueError:
        return False  # a port out of range, half of an IPv6 address
