"""Pieces of the exec-server in the test's own process: a transport that remembers, a child to work with."""

import asyncio
import json
from collections.abc import Callable

from codex_mcp.execserver.launch import Child, ProcessSpec, launch
from tests.support.patience import PATIENCE

ENV = {"PATH": "/usr/bin:/bin"}


class RecordingTransport:
    """What was sent to a client, message by message."""

    peer = "client"

    def __init__(self) -> None:
        self.messages: list[dict[str, object]] = []
        self.is_paused = False
        self.is_dropped = False
        self.probes = 0
        self.sent: Callable[[], None] = lambda: None
        """Called after each message."""
        self._news = asyncio.Event()

    def send(self, *parts: bytes) -> None:
        self.messages.append(json.loads(b"".join(parts)))
        self._news.set()
        self.sent()

    def pause_reading(self) -> None:
        self.is_paused = True
        self._news.set()

    def resume_reading(self) -> None:
        self.is_paused = False
        self._news.set()

    def probe(self) -> None:
        self.probes += 1

    def drop(self) -> None:
        self.is_dropped = True

    def methods(self) -> list[object]:
        return [message.get("method") for message in self.messages]

    async def until(self, method: str) -> dict[str, object]:
        """The first notification of this method."""
        await self.until_true(lambda: method in self.methods())
        params = self.messages[self.methods().index(method)]["params"]
        assert isinstance(params, dict)
        return params

    async def answer(self, message_id: object) -> dict[str, object]:
        """The answer with this id."""
        await self.until_true(lambda: any(self._answers(message_id)))
        return self._answers(message_id)[0]

    def _answers(self, message_id: object) -> list[dict[str, object]]:
        return [message for message in self.messages if "method" not in message and message["id"] == message_id]

    async def until_true(self, condition: Callable[[], bool]) -> None:
        """Wait for a condition that can only become true when something is done to this transport."""
        async with asyncio.timeout(PATIENCE):
            while not condition():
                self._news.clear()
                await self._news.wait()


async def elapsed(seconds: float) -> None:
    """Return after all timers of the event loop that were set before with this delay or a shorter one."""
    over = asyncio.Event()
    asyncio.get_running_loop().call_later(seconds, over.set)
    await over.wait()


async def eventually(condition: Callable[[], bool]) -> None:
    """Wait until it holds. Only for the state of other processes that has no event to wait for."""
    async with asyncio.timeout(PATIENCE):
        while not condition():  # noqa: ASYNC110
            await asyncio.sleep(0.005)


def shell(script: str, *, tty: bool = False, pipe_stdin: bool = False) -> Child:
    """Start a line of shell."""
    return launch(ProcessSpec(["/bin/sh", "-c", script], "/", ENV, tty=tty, pipe_stdin=pipe_stdin))
