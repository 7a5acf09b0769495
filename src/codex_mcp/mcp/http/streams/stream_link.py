"""The way to a client that is there for one answer only: it can be told something on that stream, and not asked."""

from __future__ import annotations

import asyncio
import logging

from msgspec import UNSET, Raw

from codex_mcp.mcp.http.streams.live_stream import LiveStream
from codex_mcp.rpc import codec
from codex_mcp.rpc.errors import ConnectionLost
from codex_mcp.rpc.peer import PendingCall
from codex_mcp.wire.jsonrpc import Id

logger = logging.getLogger(__name__)


class StreamLink:
    """A link for one stateless request."""

    def __init__(self, stream: LiveStream) -> None:
        self._stream = stream

    def notify(self, method: str, params: object = UNSET, about: Id | None = None) -> None:
        """Tell it something, as long as it is not answered."""
        if not self._stream.ended:
            self._stream.put(codec.encode_notification(method, params))

    def start(self, method: str, params: object, about: Id | None = None) -> PendingCall:
        """It cannot be asked."""
        answer: asyncio.Future[Raw] = asyncio.get_running_loop().create_future()
        answer.set_exception(ConnectionLost("this client cannot be asked anything"))
        answer.exception()
        return PendingCall(-1, answer)

    def forget(self, pending: PendingCall) -> None:
        """Nothing was asked."""
