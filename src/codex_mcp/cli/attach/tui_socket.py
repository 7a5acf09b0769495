"""The socket that the Codex TUI of `attach` connects to. Only that TUI may; what it says goes to the agent's server."""

from __future__ import annotations

import asyncio
import os
import socket
import sys
from collections.abc import Awaitable, Callable
from typing import Final, TypeAlias

from codex_mcp.access import process_tree
from codex_mcp.access.peers import CREDENTIALS, other_user
from codex_mcp.base.errors import Explained
from codex_mcp.base.tasks import TaskSet
from codex_mcp.control.failures import CannotReach
from codex_mcp.control.pipe import Pipe
from codex_mcp.transports.connections import Connections
from codex_mcp.transports.first_bytes import FirstBytes
from codex_mcp.transports.local.sockets import listening
from codex_mcp.transports.websockets.accepted import handshake
from codex_mcp.transports.websockets.channel import ROOM, SocketChannel
from codex_mcp.transports.websockets.socket import Socket, SocketRules
from codex_mcp.wire import control

NAME: Final = "tui.sock"

MIB: Final = 1024 * 1024
RULES: Final = SocketRules(room=ROOM, ping_interval=None, message_bytes=16 * MIB, frame_bytes=16 * MIB)

UNSENT: Final = MIB
"""Bytes that the TUI has not read, beyond which the server is not read: it then lets a slow TUI go."""

Connect: TypeAlias = Callable[[], Awaitable[tuple[Pipe, control.Attached]]]


class TuiSocket:
    def __init__(self, folder: str, connect: Connect, first: Pipe) -> None:
        """`connect` makes a connection to the server that runs the agent; `first` is the first one."""
        self._folder = folder
        self._connect = connect
        self._first: Pipe | None = first
        self._connections = Connections()
        self._tasks = TaskSet()
        self._tui = 0
        self._listener: asyncio.Server | None = None
        self._lost: asyncio.Future[Explained] = asyncio.get_running_loop().create_future()

    @property
    def path(self) -> str:
        return os.path.join(self._folder, NAME)

    async def open(self) -> None:
        """Raises OSError."""
        loop = asyncio.get_running_loop()
        self._listener = await loop.create_unix_server(self._accepted, sock=listening(self.path), start_serving=False)

    def serve(self, tui: int) -> None:
        """Accept connections of this process, and of those that it has started."""
        self._tui = tui
        assert self._listener is not None
        self._tasks.spawn(self._listener.start_serving(), name="socket of the TUI")

    async def lost(self) -> Explained:
        """Wait until there is nothing more to be attached to: why."""
        return await self._lost

    async def aclose(self) -> None:
        if self._listener is not None:
            self._listener.close()
        await self._tasks.aclose()
        if self._first is not None:
            await self._first.aclose()

    def _accepted(self) -> asyncio.Protocol:
        return _OfTheTui(self._requested, self._connections, self._may_connect)

    def _may_connect(self, accepted: socket.socket) -> bool:
        if other_user(accepted) is not None:
            return False
        if sys.platform != "linux":
            return True
        pid, _, _ = CREDENTIALS.unpack(accepted.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, CREDENTIALS.size))
        chain = process_tree.lineage(pid, frozenset({self._tui})) if pid > 0 else None
        return chain is not None and chain[-1].pid == self._tui and not process_tree.has_other_namespaces(pid)

    def _requested(self, transport: asyncio.Transport, head: bytes, came: bytes) -> None:
        library, answer = handshake(head, RULES)
        transport.write(answer)
        if library is None:
            transport.close()
            return
        accepted = Socket(library, RULES, self._connections)
        channel = SocketChannel(accepted)
        accepted.start(transport, channel, came)
        self._tasks.spawn(self._serve(channel), name="connection of the TUI")

    async def _serve(self, channel: SocketChannel) -> None:
        try:
            pipe = await self._pipe()
        except CannotReach:
            await channel.aclose()  # the TUI tries again
            return
        except Explained as exc:
            if not self._lost.done():
                self._lost.set_result(exc)
            await channel.aclose()
            return
        both = TaskSet()
        ways = [
            both.spawn(_from_tui(channel, pipe), name="from the TUI"),
            both.spawn(_to_tui(pipe, channel), name="to the TUI"),
        ]
        try:
            await asyncio.wait(ways, return_when=asyncio.FIRST_COMPLETED)
        finally:
            await both.aclose()
            await pipe.aclose()
            await channel.aclose()

    async def _pipe(self) -> Pipe:
        first, self._first = self._first, None
        if first is not None:
            return first
        pipe, _ = await self._connect()
        return pipe


class _OfTheTui(FirstBytes):
    """Hangs up on everybody but the TUI."""

    def __init__(
        self,
        requested: Callable[[asyncio.Transport, bytes, bytes], None],
        connections: Connections,
        may_connect: Callable[[socket.socket], bool],
    ) -> None:
        super().__init__(requested, connections)
        self._may_connect = may_connect

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        super().connection_made(transport)
        if not self._may_connect(transport.get_extra_info("socket")):
            assert isinstance(transport, asyncio.Transport)
            transport.abort()


async def _from_tui(channel: SocketChannel, pipe: Pipe) -> None:
    while frames := await channel.receive():
        for frame in frames:
            try:
                await pipe.send(frame)
            except OSError:
                return


async def _to_tui(pipe: Pipe, channel: SocketChannel) -> None:
    while message := await pipe.receive():
        channel.send(message)
        await channel.drain(UNSENT)
