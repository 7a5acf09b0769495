"""The client as the tools see it: a name, what it can do, and a way to tell and ask it something."""

from __future__ import annotations

import asyncio
import logging

import msgspec

from codex_mcp.base.settings import Settings
from codex_mcp.mcp.elicitation import elicitation_params, why_not_asked
from codex_mcp.rpc.errors import ConnectionLost, RequestFailed
from codex_mcp.rpc.peer import Peer, PendingCall
from codex_mcp.threads.approvals import decide
from codex_mcp.threads.decisions import SESSION_GONE, Decision, Denied, failed, timed_out
from codex_mcp.threads.questions import Question
from codex_mcp.wire import mcp
from codex_mcp.wire.jsonrpc import Id

logger = logging.getLogger(__name__)


class Client:
    """Whoever is at the other end of the connection. It may call tools before it has said who it is."""

    def __init__(self, peer: Peer, settings: Settings) -> None:
        self._peer = peer
        self._settings = settings
        self.info: mcp.ClientInfo | None = None
        self.capabilities: dict[str, object] = {}

    @property
    def name(self) -> str:
        """What it calls itself."""
        return self.info.name if self.info is not None else ""

    def notify(self, method: str, params: object) -> None:
        """Tell it something."""
        self._peer.notify(method, params)

    async def ask(self, question: Question, request_id: Id) -> Decision:
        """Ask the person in front of it. A question is asked once; whatever is no clear yes is a no."""
        why_not = why_not_asked(question, self.capabilities)
        if why_not is not None:
            return Denied(why_not)
        limit = self._settings.approval_timeout
        if limit == 0:
            return timed_out(limit)
        pending = self._peer.start("elicitation/create", elicitation_params(question, tool_call_id=request_id))
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
        self._peer.forget(pending)
        self.notify("notifications/cancelled", {"requestId": pending.id, "reason": reason})
