"""The client as a tool sees it during one request: a name, what it can do, and a way to tell and ask it something."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from typing import Final, Protocol

from msgspec import UNSET, Raw

from codex_mcp.base.futures import Waiter
from codex_mcp.base.settings.groups import Settings
from codex_mcp.rpc.errors import request_failed
from codex_mcp.rpc.peer import PendingCall
from codex_mcp.wire import mcp
from codex_mcp.wire.jsonrpc import Id

logger = logging.getLogger(__name__)


CAPABILITY_FOR: Final = {
    "elicitation/create": "elicitation",
    "roots/list": "roots",
    "sampling/createMessage": "sampling",
}
"""What a client may be asked, and what it must have declared for that."""


class Link(Protocol):
    """The way to the client. A peer is one; so is the stream of a single answer."""

    def notify(self, method: str, params: object = UNSET, about: Id | None = None) -> None:
        """Tell it something."""

    def start(self, method: str, params: object, about: Id | None = None) -> PendingCall:
        """Ask it something."""

    def forget(self, pending: PendingCall) -> None:
        """Do not wait for the answer any longer."""


class Reach(Protocol):
    """The connections of a client that may have several, or none."""

    def watch_unheard(self, about: Id, waiter: Waiter) -> None:
        """Tell this one when no connection reads what the client is asked about this request; at once if none does."""


class Client:
    """Whoever is at the other end of the connection. It may call tools before it has said who it is."""

    def __init__(self, link: Link, settings: Settings) -> None:
        self._link = link
        self._settings = settings
        self.info: mcp.ClientInfo | None = None
        self.capabilities: Mapping[str, object] = {}
        self.is_stateless = False
        """It cannot be asked anything: it must be answered that input is required, and comes again."""
        self.reach: Reach | None = None
        """Tells when no connection of it reads what it is asked; None if there is one connection for everything."""

    def with_facts(self, info: mcp.ClientInfo | None, capabilities: Mapping[str, object]) -> Client:
        """The same client, as it describes itself in one request of the stateless era."""
        client = Client(self._link, self._settings)
        client.info = info
        client.capabilities = capabilities
        client.is_stateless = True
        client.reach = self.reach
        return client

    @property
    def name(self) -> str:
        """What it calls itself."""
        return self.info.name if self.info is not None else ""

    def notify(self, method: str, params: object, about: Id | None = None) -> None:
        """Tell it something, about a request of its own or in general."""
        self._link.notify(method, params, about)

    def require(self, capability: str) -> None:
        """Make sure that it can do this. Raises RequestFailed."""
        if self.capabilities.get(capability) is None:
            raise request_failed(
                mcp.MISSING_CAPABILITY,
                f"Missing capability: this needs a client that declares {capability}",
                {"requiredCapabilities": {capability: {}}},
            )

    def has_extension(self, name: str) -> bool:
        """Has it declared this extension of MCP?"""
        extensions = self.capabilities.get("extensions")
        return isinstance(extensions, dict) and extensions.get(name) is not None

    def require_extension(self, name: str) -> None:
        """Make sure that it has. Raises RequestFailed."""
        if not self.has_extension(name):
            raise request_failed(
                mcp.MISSING_CAPABILITY,
                f"Missing capability: this needs a client that declares the extension {name}",
                {"requiredCapabilities": {"extensions": {name: {}}}},
            )

    async def request(self, method: str, params: object, about: Id) -> Raw:
        """Ask it something about a request of its own. Raises RequestFailed or ConnectionLost."""
        self.require(CAPABILITY_FOR[method])
        pending = self._link.start(method, params, about)
        try:
            return await pending.answer
        finally:
            self._link.forget(pending)

    def start_elicitation(self, params: object, request_id: Id) -> PendingCall:
        """Ask the person in front of it something about a request of its own."""
        return self._link.start("elicitation/create", params, request_id)

    def withdraw(self, pending: PendingCall, reason: str) -> None:
        """It need not answer any longer."""
        self._link.forget(pending)
        self.notify("notifications/cancelled", {"requestId": pending.id, "reason": reason})
