"""The client as a tool sees it during one request: a name, what it can do, and a way to tell and ask it something."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Mapping
from typing import Final, Protocol

import msgspec
from msgspec import UNSET, Raw

from codex_mcp.base.settings import Settings
from codex_mcp.mcp.elicitation import elicitation_params, why_not_asked
from codex_mcp.rpc.errors import ConnectionLost, RequestFailed, request_failed
from codex_mcp.rpc.peer import PendingCall
from codex_mcp.threads.approvals import decide
from codex_mcp.threads.decisions import SESSION_GONE, Decision, Denied, failed, timed_out
from codex_mcp.threads.questions import Question
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


class Client:
    """Whoever is at the other end of the connection. It may call tools before it has said who it is."""

    def __init__(self, link: Link, settings: Settings) -> None:
        self._link = link
        self._settings = settings
        self.info: mcp.ClientInfo | None = None
        self.capabilities: Mapping[str, object] = {}
        self.is_stateless = False
        """It cannot be asked anything: it must be answered that input is required, and comes again."""

    def with_facts(self, info: mcp.ClientInfo | None, capabilities: Mapping[str, object]) -> Client:
        """The same client, as it describes itself in one request of the stateless era."""
        client = Client(self._link, self._settings)
        client.info = info
        client.capabilities = capabilities
        client.is_stateless = True
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

    async def ask(self, question: Question, request_id: Id) -> Decision:
        """Ask the person in front of it. A question is asked once; whatever is no clear yes is a no."""
        why_not = why_not_asked(question, self.capabilities)
        if why_not is not None:
            return Denied(why_not)
        limit = self._settings.approval_timeout
        if limit == 0:
            return timed_out(limit)
        params = elicitation_params(question, tool_call_id=request_id)
        pending = self._link.start("elicitation/create", params, request_id)
        try:
            async with asyncio.timeout(limit):
                raw = await pending.answer
        except TimeoutError:
            self._take_back(pending, "nobody answered in time")
            return timed_out(limit)
        except asyncio.CancelledError:
            self._take_back(pending, "the question is no longer open")
            raise
        except RequestFailed as exc:
            return failed(exc.error.message)
        except ConnectionLost:
            return Denied(SESSION_GONE)
        return decide(question, msgspec.json.decode(raw))

    def _take_back(self, pending: PendingCall, reason: str) -> None:
        self._link.forget(pending)
        self.notify("notifications/cancelled", {"requestId": pending.id, "reason": reason})
