"""A peer that runs, and the far end of its conversation in the test's hand."""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass, field
from typing import Any

import msgspec

from codex_mcp.base.tasks import TaskSet
from codex_mcp.rpc.peer import Handlers, Peer, RequestHandler
from codex_mcp.wire.jsonrpc import Notification, Request
from tests.support.core.cores import no_pace
from tests.support.patience import PATIENCE
from tests.support.rpc.memory_channel import MemoryChannel, memory_pair

Json = dict[str, Any]

MAX_REQUESTS = 4


def echo(request: Request) -> object:
    """Answer with the method."""
    return {"echo": request.method}


@dataclass(slots=True)
class Talk:
    """A peer that runs, and the far end of its channel in the test's hand."""

    peer: Peer
    far: MemoryChannel
    running: "asyncio.Task[None]"
    heard: list[str] = field(default_factory=list)

    def say(self, *frames: bytes) -> None:
        """Send frames as they are."""
        for frame in frames:
            self.far.send(frame)

    def ask(self, message_id: int | str, method: str = "m") -> None:
        """Send a request."""
        self.say(msgspec.json.encode({"jsonrpc": "2.0", "id": message_id, "method": method}))

    async def hear(self) -> Json:
        """The next message, but for those of `all_met`."""
        while True:
            async with asyncio.timeout(PATIENCE):
                frames = await self.far.receive()
            assert isinstance(frames[0], bytes)
            message: Json = msgspec.json.decode(frames[0])
            if message.get("method") != "sync":
                return message

    async def all_met(self) -> None:
        """Wait until everything that was said has been met at the peer's door."""
        sync = self.peer.start("sync", {})
        self.say(msgspec.json.encode({"jsonrpc": "2.0", "id": sync.id, "result": None}))
        await sync.answer


@contextlib.asynccontextmanager
async def talk(
    on_request: RequestHandler = echo,
    on_notification: Callable[[Notification], None] | None = None,
    pace: Callable[[], Any] = no_pace,
) -> AsyncIterator[Talk]:
    """A conversation, closed in the end."""
    near, far = memory_pair()
    heard: list[str] = []
    handlers = Handlers(on_request, on_notification or (lambda message: heard.append(message.method)))
    peer = Peer(near, handlers, max_requests=MAX_REQUESTS, pace=pace)
    tasks = TaskSet()
    try:
        yield Talk(peer, far, tasks.spawn(peer.run(), name="peer"), heard)
    finally:
        await peer.aclose()
        await tasks.aclose()
