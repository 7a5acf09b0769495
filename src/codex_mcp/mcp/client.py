"""The client as a tool sees it during one request: its name, its capabilities, and a way to notify and ask it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, Protocol

from msgspec import UNSET, Raw

from codex_mcp.base.futures import Waiter
from codex_mcp.mcp.known_clients import asks_for_events, known_client
from codex_mcp.rpc.errors import request_failed
from codex_mcp.rpc.peer import PendingCall
from codex_mcp.wire import mcp
from codex_mcp.wire.jsonrpc import Id

CAPABILITY_FOR: Final = {
    "elicitation/create": "elicitation",
    "roots/list": "roots",
    "sampling/createMessage": "sampling",
}
"""The requests that a client may get, and the capability that it must have declared."""


class Outlet(Protocol):
    """Where what is said to a client goes: its peer, or one that passes it on to another server's client."""

    def notify(self, method: str, params: object = UNSET, about: Id | None = None) -> None:
        """Send a notification."""

    def start(self, method: str, params: object, about: Id | None = None) -> PendingCall:
        """Send a request."""

    def forget(self, pending: PendingCall) -> None:
        """Stop waiting for its answer."""


class Reach(Protocol):
    """The connections of a client that may have several, or none."""

    def watch_unheard(self, about: Id, waiter: Waiter) -> None:
        """Resolve this future when no connection reads questions about this request; at once if none does."""


class Client:
    """The other end of a connection. It may call tools before it has introduced itself."""

    def __init__(self, peer: Outlet, reach: Reach | None = None) -> None:
        """`reach` is None for a client with a single connection."""
        self._peer = peer
        self.notify = peer.notify
        self._reach = reach
        self.info: mcp.ClientInfo | None = None
        self.capabilities: Mapping[str, object] = {}
        self.revision = ""
        """The revision of MCP that it speaks; empty before it is known, which is older than any."""
        self.is_stateless = False
        """It cannot be asked: its call is answered `input_required`, and its next request brings the answers."""

    def introduce(
        self,
        info: mcp.ClientInfo | None,
        capabilities: Mapping[str, object],
        revision: str = mcp.REVISIONS[0],
        *,
        is_stateless: bool = False,
    ) -> None:
        self.info = info
        self.capabilities = capabilities
        self.revision = revision
        self.is_stateless = is_stateless

    def stateless(self, info: mcp.ClientInfo | None, capabilities: Mapping[str, object], revision: str) -> Client:
        """The same client, as it describes itself in one stateless request."""
        client = Client(self._peer, self._reach)
        client.introduce(info, capabilities, revision, is_stateless=True)
        return client

    @property
    def name(self) -> str:
        return self.info.name if self.info is not None else ""

    @property
    def takes_events(self) -> bool:
        """It has asked for `codex/event` notifications, or is a program that may need them."""
        return asks_for_events(self.capabilities) or known_client(self.name).takes_events

    def require(self, capability: str) -> None:
        if self.capabilities.get(capability) is None:
            raise request_failed(
                mcp.MISSING_CAPABILITY,
                f"Missing capability: this needs a client that declares {capability}",
                {"requiredCapabilities": {capability: {}}},
            )

    def has_extension(self, name: str) -> bool:
        extensions = self.capabilities.get("extensions")
        return isinstance(extensions, dict) and extensions.get(name) is not None

    def require_extension(self, name: str) -> None:
        if not self.has_extension(name):
            raise request_failed(
                mcp.MISSING_CAPABILITY,
                f"Missing capability: this needs a client that declares the extension {name}",
                {"requiredCapabilities": {"extensions": {name: {}}}},
            )

    async def request(self, method: str, params: object, about: Id) -> Raw:
        """Send a request about one of its own. Raises RequestFailed or ConnectionLost."""
        self.require(CAPABILITY_FOR[method])
        pending = self._peer.start(method, params, about)
        try:
            return await pending.answer
        finally:
            self._peer.forget(pending)

    def start_elicitation(self, params: object, request_id: Id) -> PendingCall:
        return self._peer.start("elicitation/create", params, request_id)

    def start_request(self, method: str, params: object) -> PendingCall:
        """Send a request that no capability announces, and that is about none of its own."""
        return self._peer.start(method, params)

    def withdraw(self, pending: PendingCall, reason: str) -> None:
        self._peer.forget(pending)
        self.notify("notifications/cancelled", {"requestId": pending.id, "reason": reason})

    def watch_unheard(self, about: Id, waiter: Waiter) -> None:
        if self._reach is not None:
            self._reach.watch_unheard(about, waiter)
