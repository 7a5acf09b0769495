"""A core on a socket, as its supervisor uses a child: its messages, its end, its last words.

It may not be a child of ours: then nobody tells how it ended, only that it did.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
from collections.abc import Coroutine
from typing import Any, Final

from codex_mcp.base.blocking import in_thread
from codex_mcp.base.files import opened
from codex_mcp.base.futures import resolve
from codex_mcp.rpc.channel import Channel, FrameKind, Receiver
from codex_mcp.transports.child import STDERR_TAIL_BYTES, Exit
from codex_mcp.wire.jsonrpc import Id

UNKNOWN: Final = 0
"""The exit code of a core that was not our child."""


class CoreLink:
    def __init__(self, pid: int, descriptor: int, channel: Channel, errors: str) -> None:
        """`descriptor` is of its process; it and the channel belong to this from now on. `errors` has its stderr."""
        self.pid = pid
        self._descriptor = descriptor
        self._channel = channel
        self._errors = errors
        self._code = UNKNOWN
        self.is_left = False
        """It goes on without us."""
        self._loop = asyncio.get_running_loop()
        self._ended: asyncio.Future[None] = self._loop.create_future()
        self._loop.add_reader(descriptor, self._has_ended)

    def __repr__(self) -> str:
        return f"<CoreLink {self.pid}>"

    def read(self, receiver: Receiver) -> Coroutine[Any, Any, None]:
        return self._channel.read(receiver)

    def send(self, frame: bytes, about: Id | None = None, kind: FrameKind = FrameKind.NOTIFICATION) -> None:
        self._channel.send(frame, about, kind)

    async def drain(self, below: int) -> None:
        await self._channel.drain(below)

    async def aclose(self) -> None:
        """Ask it to end; it does at once if no turn runs."""
        self._signal(signal.SIGTERM)

    def kill(self) -> None:
        self._signal(signal.SIGKILL)

    async def wait(self) -> Exit:
        """Wait until it has ended."""
        await asyncio.wait([self._ended])
        await self._channel.aclose()
        return Exit(self._code, await in_thread(tail, self._errors))

    async def leave(self) -> None:
        """Let it go on without us. Nothing ends it from here any more."""
        self.is_left = True
        self._forget()
        await self._channel.aclose()

    def _signal(self, number: int) -> None:
        if not self._ended.done():
            with contextlib.suppress(ProcessLookupError):
                signal.pidfd_send_signal(self._descriptor, number)

    def _has_ended(self) -> None:
        with contextlib.suppress(ChildProcessError):  # it was another server's child
            _, status = os.waitpid(self.pid, os.WNOHANG)
            self._code = os.waitstatus_to_exitcode(status)
        self._forget()

    def _forget(self) -> None:
        if not self._ended.done():
            self._loop.remove_reader(self._descriptor)
            os.close(self._descriptor)
            resolve(self._ended, None)


def tail(path: str) -> str:
    """The end of its stderr; nothing if that cannot be read."""
    with contextlib.suppress(OSError), opened(path, links=False) as file:
        file.seek(0, os.SEEK_END)
        file.seek(max(0, file.tell() - STDERR_TAIL_BYTES))
        return file.read(STDERR_TAIL_BYTES).decode(errors="replace")
    return ""
