"""A session of the server and its client in one process, without a Codex: whoever wants a turn is told so."""

import asyncio
import contextlib
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import msgspec

from codex_mcp.access.seal import KEY_BYTES
from codex_mcp.base.errors import Refused
from codex_mcp.base.tasks import TaskSet
from codex_mcp.codex.supervisor import CoreLaunch
from codex_mcp.mcp.methods import handle_notification
from codex_mcp.mcp.session import Session
from codex_mcp.mcp.tools.product import MakeProduct, plain_product
from codex_mcp.rpc.channel import Channel
from codex_mcp.rpc.errors import request_failed
from codex_mcp.rpc.peer import Handlers, Peer
from codex_mcp.threads.threads import Threads
from codex_mcp.wire.jsonrpc import METHOD_NOT_FOUND, Notification, Request
from tests.support.patience import PATIENCE
from tests.support.rpc.memory_channel import MemoryChannel, memory_pair
from tests.support.settings import make_settings

Json = dict[str, Any]

NO_CODEX = "there is no Codex here"


class FarEnd:
    """The other end of a connection, spoken to and heard by hand."""

    def __init__(self, channel: MemoryChannel) -> None:
        self._channel = channel

    def send(self, message: object) -> None:
        """Say one message."""
        self._channel.send(msgspec.json.encode(message))

    def notify(self, method: str, params: object) -> None:
        """Say something that nobody answers."""
        self.send({"jsonrpc": "2.0", "method": method, "params": params})

    async def next(self) -> Json:
        """Hear the next message."""
        async with asyncio.timeout(PATIENCE):
            (frame,) = await self._channel.receive()
        assert isinstance(frame, bytes)
        message: Json = msgspec.json.decode(frame)
        return message

    async def ask(self, method: str, params: object = None, request_id: int | str = 1) -> Json:
        """Ask, and hear the next message, which must be the answer."""
        message = {"jsonrpc": "2.0", "id": request_id, "method": method}
        self.send(message if params is None else {**message, "params": params})
        answer = await self.next()
        assert answer.pop("jsonrpc") == "2.0"
        assert answer.pop("id") == request_id
        return answer

    async def close(self) -> None:
        """Go away."""
        await self._channel.aclose()

    async def has_said_nothing(self) -> None:
        """Make sure that nothing waits to be heard: the next message is the answer to this ping."""
        assert await self.ask("ping", request_id="nothing else?") == {"result": {}}


async def no_codex() -> CoreLaunch:
    """Where there is no Codex."""
    raise Refused(NO_CODEX)


async def no_hurry() -> None:
    """A client that is never overrun."""


def _refuse(request: Request) -> object:
    raise request_failed(METHOD_NOT_FOUND, request.method)


def _ignore(message: Notification) -> None:
    """Nothing of interest."""


def plain_peer(channel: Channel | None = None) -> Peer:
    """A peer that only sends; without a channel it sends to nobody."""
    return Peer(channel or MemoryChannel(), Handlers(_refuse, _ignore), max_requests=1, pace=no_hurry)


@contextlib.asynccontextmanager
async def memory_session(
    home: Path, make: MakeProduct = plain_product, **settings: Any
) -> AsyncIterator[tuple[FarEnd, Session]]:
    """A session, and the client at the far end of it."""
    ours, theirs = memory_pair()
    chosen = make_settings(codex_home=str(home), **settings)
    threads = Threads(chosen.core, chosen.calls, no_codex, no_hurry)
    peer = Peer(
        ours,
        Handlers(
            lambda request: product.methods.handle(session, request), lambda note: handle_notification(session, note)
        ),
        max_requests=8,
        pace=no_hurry,
    )
    key = bytes(KEY_BYTES)
    product = make(threads, chosen, key)
    session = Session(peer, product.tools, chosen.calls)
    tasks = TaskSet()
    tasks.spawn(peer.run(), name="session")
    try:
        yield FarEnd(theirs), session
    finally:
        await product.aclose()
        await threads.aclose()
        await peer.aclose()
        await tasks.aclose()
