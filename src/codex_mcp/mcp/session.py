"""One client's stay: who it is, and the calls that it has running."""

from __future__ import annotations

import asyncio
import logging
import os
from collections.abc import Coroutine
from typing import Any, Final

from codex_mcp.base.logs import about
from codex_mcp.base.settings import Settings
from codex_mcp.mcp.call import Call
from codex_mcp.mcp.client import Client
from codex_mcp.mcp.tools import Tools
from codex_mcp.rpc.peer import Peer
from codex_mcp.threads.book import Book
from codex_mcp.wire import mcp
from codex_mcp.wire.jsonrpc import Id

logger = logging.getLogger(__name__)

ID_BYTES: Final = 16
"""As many as a UUID has; the module of that name costs 2 ms of the time to the first answer."""


class Session:
    """A client and its calls."""

    def __init__(self, peer: Peer, book: Book, settings: Settings) -> None:
        self.id = os.urandom(ID_BYTES).hex()
        self.client = Client(peer, settings)
        self._book = book
        self._tools = Tools(book, settings)
        self._settings = settings
        self._calls: dict[Id, Call] = {}
        self._idle = asyncio.Event()
        self._idle.set()

    def __repr__(self) -> str:
        return f"<Session {self.id} of {self.client.name or 'a client without a name'}: {len(self._calls)} calls>"

    def introduce(self, params: mcp.Initialize) -> None:
        """The client says who it is. It will want a turn soon, so that the core may as well start now."""
        self.client.info = params.client_info
        self.client.capabilities = params.capabilities
        logger.info(
            "client %s %s asks for MCP %s", params.client_info.name, params.client_info.version, params.protocol_version
        )
        # After the answer is on its way: the client waits for that first.
        asyncio.get_running_loop().call_soon(self._book.warm_up)

    def call_tool(self, request_id: Id, params: mcp.CallTool) -> Coroutine[Any, Any, object]:
        """Begin a call. From now on it can be cancelled."""
        call = Call(self.client, request_id, params.meta.progress_token, self._settings)
        self._calls[request_id] = call
        self._idle.clear()
        return self._run(call, params)

    async def _run(self, call: Call, params: mcp.CallTool) -> object:
        with about(request=str(call.request_id)):
            logger.info("call of %s", params.name)
            try:
                return await self._tools.run(call, params.name, params.arguments)
            finally:
                with about(thread=call.thread_id):
                    logger.info("call of %s ended", params.name)
                del self._calls[call.request_id]
                if not self._calls:
                    self._idle.set()

    def cancel(self, message: mcp.Cancelled) -> None:
        """The client takes a request back. It may be over, or never have been: then nothing happens."""
        call = self._calls.get(message.request_id)
        if call is not None:
            logger.info("request %s cancelled: %s", message.request_id, message.reason or "no reason given")
            call.cancel()

    def cancel_all(self) -> None:
        """Take everything back."""
        for call in list(self._calls.values()):
            call.cancel()

    async def wait_idle(self, timeout: float) -> bool:
        """Wait until no call runs; False if time is up before."""
        try:
            async with asyncio.timeout(timeout):
                await self._idle.wait()
        except TimeoutError:
            return False
        return True
