"""The socket of a node: made when it has joined, removed when it leaves. Admits connections, within limits."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import socket
import time
from functools import partial
from typing import Final

from codex_mcp import __version__
from codex_mcp.access.peers import Peers
from codex_mcp.base.blocking import in_thread
from codex_mcp.base.tasks import TaskSet
from codex_mcp.mcp.control.connection import ControlConnection
from codex_mcp.mcp.control.inside import Inside
from codex_mcp.rpc import codec
from codex_mcp.state.embedded.flock import socket_path
from codex_mcp.team.agent import Owner
from codex_mcp.transports.local.channel import Bounds, LocalChannel
from codex_mcp.transports.local.sockets import listening, remove_socket
from codex_mcp.transports.websockets.channel import SocketChannel
from codex_mcp.wire import control
from codex_mcp.wire.jsonrpc import SERVER_BUSY, ErrorObject

logger = logging.getLogger(__name__)

MOST_CONNECTIONS: Final = 16
"""A few terminals and a dashboard."""

MOST_SERVERS: Final = 64
"""Connections of other servers of the folder, besides: each has one, as long as it lives."""

MOST_UNCHECKED: Final = 32
"""Connections that wait for the check of their process; further ones wait in the kernel."""

MOST_REFUSING: Final = 8
REFUSAL_PATIENCE: Final = 1.0
"""Connections that are refused once they have said something, and the seconds that they have for that."""

ACCEPT_PAUSE: Final = 0.5
"""Seconds until the next try to accept when the server has no descriptor left."""

FULL: Final = ErrorObject(
    SERVER_BUSY, f"this server has {MOST_CONNECTIONS} control connections already; close one, and try again"
)

LEFT_OUT: Final = codec.encode_notification(control.RESYNC, {"reason": "slow"})

CANNOT_LISTEN: Final = (
    "cannot make the control socket %s: %s; codex-mcp show, watch, interrupt and close cannot reach this server"
)


class Door:
    def __init__(self, inside: Inside) -> None:
        self._inside = inside
        self._peers = Peers(refused=inside.team.note_refused)
        self._started_at = time.time()
        self._owner: Owner | None = None
        self._path = ""
        self._listener: socket.socket | None = None
        self._opening: asyncio.Task[None] | None = None
        self._accepting: asyncio.Task[None] | None = None
        self._tasks = TaskSet()
        self._connections: set[ControlConnection] = set()
        self._unchecked = asyncio.Semaphore(MOST_UNCHECKED)
        self._refusing = 0
        self._has_warned = False
        self._closed = False

    def open(self, owner: Owner) -> None:
        """Listen as this node. Connections to an earlier one are closed: their agents may be another server's now."""
        self._opening = self._tasks.spawn(self._open(owner, self._opening), name="opening of the control socket")

    async def _open(self, owner: Owner, earlier: asyncio.Task[None] | None) -> None:
        if earlier is not None:
            await asyncio.wait([earlier])
        await self._leave()
        if self._closed:
            return
        path = socket_path(self._inside.settings.state_dir, owner.node)
        try:
            listener = await in_thread(listening, path)
        except OSError as exc:
            if not self._has_warned:
                logger.warning(CANNOT_LISTEN, path, exc.strerror or exc)
            self._has_warned = True
            return
        self._owner, self._path, self._listener = owner, path, listener
        self._accepting = self._tasks.spawn(self._accept(listener), name="control socket")

    async def aclose(self) -> None:
        self._closed = True
        self._remove_socket()  # before anything is waited for: a further signal cancels what follows
        if self._opening is not None:
            await asyncio.wait([self._opening])
        await self._leave()
        await self._tasks.aclose()
        self._peers.close()

    async def _leave(self) -> None:
        """Remove the socket, stop listening, close the connections."""
        self._remove_socket()
        if self._accepting is not None:
            self._accepting.cancel()
            await asyncio.wait([self._accepting])
            self._accepting = None
        if self._listener is not None:
            self._listener.close()
            self._listener = None
        await asyncio.gather(*(connection.aclose() for connection in self._connections))

    def _remove_socket(self) -> None:
        if self._listener is not None:
            with contextlib.suppress(OSError):
                remove_socket(self._path)

    async def _accept(self, listener: socket.socket) -> None:
        loop = asyncio.get_running_loop()
        while True:
            await self._unchecked.acquire()
            try:
                accepted, _ = await loop.sock_accept(listener)
            except OSError as exc:
                self._unchecked.release()
                logger.warning("cannot accept a control connection: %s", exc.strerror or exc)
                await asyncio.sleep(ACCEPT_PAUSE)
                continue
            self._tasks.spawn(self._admit(accepted), name="control connection")

    async def _admit(self, accepted: socket.socket) -> None:
        with contextlib.closing(accepted), contextlib.suppress(OSError):
            try:
                why = await self._peers.check_unix(accepted)
            finally:
                self._unchecked.release()
            refused = None if why is None else ErrorObject(control.REFUSED_PEER, why)
            if refused is None and self._is_full():
                refused = FULL
            channel = LocalChannel(Bounds(control.MAX_MESSAGE_BYTES, left_out=LEFT_OUT))
            await asyncio.get_running_loop().connect_accepted_socket(lambda: channel, accepted)
            if refused is None:
                await self._serve(channel)
            else:
                await self._refuse(channel, refused)

    def _is_full(self) -> bool:
        others = sum(not connection.is_of_server for connection in self._connections)
        return others >= MOST_CONNECTIONS or len(self._connections) >= MOST_CONNECTIONS + MOST_SERVERS

    async def _refuse(self, channel: LocalChannel, refused: ErrorObject) -> None:
        """Say why, once the other end has said something: one that is cut off while it writes would not read it."""
        if self._refusing < MOST_REFUSING:
            self._refusing += 1
            try:
                async with asyncio.timeout(REFUSAL_PATIENCE):
                    await channel.receive()
            except TimeoutError:
                pass
            finally:
                self._refusing -= 1
        channel.send(codec.encode_error(None, refused))
        await channel.aclose()

    @property
    def node(self) -> str:
        """Which node of the store this server is; empty if it is none now."""
        return "" if self._owner is None or self._closed else self._owner.node

    async def serve_far(self, channel: SocketChannel, of: str) -> None:
        """Serve a server of another machine, which has proved that it is this node."""
        if self._is_full():
            channel.abort()
            return
        await self._serve(channel, of)

    async def _serve(self, channel: LocalChannel | SocketChannel, of: str | None = None) -> None:
        assert self._owner is not None
        connection = ControlConnection(channel, self._inside, partial(self._greeting, self._owner), of)
        self._connections.add(connection)
        try:
            await connection.run()
        finally:
            self._connections.discard(connection)

    def _greeting(self, owner: Owner, hello: control.Hello) -> control.Greeting:
        return control.Greeting(
            protocol=control.PROTOCOL,
            node=owner.node,
            pid=os.getpid(),
            host=owner.host,
            version=__version__,
            team=self._inside.settings.team,
            started_at=self._started_at,
            generation=self._inside.threads.supervisor.starts,
            may=[control.READ] if hello.view else [control.READ, control.CONTROL],
            page="" if self._inside.pages is None else self._inside.pages.url,
            clients=self._inside.tools.callers.seen(hello.principal, time.monotonic()),
        )
