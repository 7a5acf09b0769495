"""A TCP proxy in front of an exec-server that does to a connection what networks do, and worse: cut, delay, repeat.

What passes is told apart into WebSocket frames, so that a frame can be sent twice, and a cut can fall between two of
them as well as inside one. After a cut, all that the client had said may be said once more, by a ghost: a connection
that nobody made and whose answers nobody reads. All by the dice of one seed.
"""

import asyncio
import contextlib
import random
import socket
from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass, field

from codex_mcp.base.tasks import TaskSet

HEADER_END = b"\r\n\r\n"
READ_BYTES = 1 << 16
TEXT_WHOLE = 0x81
"""The first byte of a frame that is a whole text message. Only such may come twice: half a message twice is garbage."""


@dataclass(frozen=True, slots=True)
class Faults:
    """How often what happens, per frame, and for ghosts, per cut."""

    cut: float = 0.0
    delay: float = 0.0
    repeat: float = 0.0
    ghost: float = 0.0
    longest_delay: float = 0.005


CALM = Faults()

GHOST_BYTES = 1 << 18
"""What a ghost repeats at most."""


@dataclass(eq=False, slots=True)
class Wire:
    """One client's connection and the one that we made for it."""

    client: asyncio.StreamWriter
    server: asyncio.StreamWriter
    said: bytearray = field(default_factory=bytearray)
    """By the client, for a ghost."""

    def cut(self) -> None:
        for writer in (self.client, self.server):
            writer.transport.abort()


@dataclass(slots=True)
class Frames:
    """Bytes of one direction, in whole frames. The upgrade, or the answer to it, counts as the first."""

    waiting: bytearray = field(default_factory=bytearray)
    is_upgraded: bool = False

    def feed(self, data: bytes) -> Iterator[bytes]:
        self.waiting += data
        while (size := self._size()) is not None and len(self.waiting) >= size:
            frame, self.waiting = bytes(self.waiting[:size]), self.waiting[size:]
            self.is_upgraded = True
            yield frame

    def _size(self) -> int | None:
        if not self.is_upgraded:
            end = self.waiting.find(HEADER_END)
            return None if end < 0 else end + len(HEADER_END)
        if len(self.waiting) < 2:
            return None
        short = self.waiting[1] & 0x7F
        length_bytes = {126: 2, 127: 8}.get(short, 0)
        mask_bytes = 4 if self.waiting[1] & 0x80 else 0
        if len(self.waiting) < 2 + length_bytes:
            return None
        length = int.from_bytes(self.waiting[2 : 2 + length_bytes], "big") if length_bytes else short
        return 2 + length_bytes + mask_bytes + length


class CuttingProxy:
    """An async context manager; what it does to its wires may be changed at any time."""

    def __init__(self, server_port: int, faults: Faults = CALM, seed: int = 0) -> None:
        self.faults = faults
        self.server_port = server_port
        self.cuts = 0
        self.repeats = 0
        self.ghosts = 0
        self.accepted = 0
        self.is_refusing = False
        """Refuse connections, as if the network were down."""
        self.is_lingering = False
        """The server does not notice that its client is gone, until `let_go()`."""
        self.something_held = asyncio.Event()
        """While muted: the server has said something, and the client does not know."""
        self._may_speak = asyncio.Event()
        self._may_speak.set()
        self._may_end = asyncio.Event()
        self._dice = random.Random(seed)
        self._wires: set[Wire] = set()
        self._tasks = TaskSet()
        self._knocked = asyncio.Condition()
        self._listener: asyncio.Server

    async def __aenter__(self) -> "CuttingProxy":
        self._listener = await asyncio.start_server(self._knock, "127.0.0.1", 0)
        return self

    async def __aexit__(self, *_: object) -> None:
        self._listener.close()
        self.let_go()
        self.cut()
        await self._tasks.aclose()
        await self._listener.wait_closed()

    @property
    def url(self) -> str:
        return f"ws://127.0.0.1:{self._listener.sockets[0].getsockname()[1]}"

    def cut(self) -> None:
        """Cut every connection now; what was held is lost."""
        for wire in self._wires:
            if self.is_lingering:
                wire.client.transport.abort()
            else:
                wire.cut()
            self.cuts += 1
        self.unmute()

    def let_go(self) -> None:
        """Let the server notice at last."""
        self.is_lingering = False
        self._may_end.set()

    def mute(self) -> None:
        """Hold back what the server says."""
        self.something_held.clear()
        self._may_speak.clear()

    def unmute(self) -> None:
        """Pass on what was held."""
        self._may_speak.set()

    async def knocks(self, count: int) -> None:
        """Wait until so many connections have been tried."""
        async with self._knocked:
            await self._knocked.wait_for(lambda: self.accepted >= count)

    async def _knock(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        async with self._knocked:
            self.accepted += 1
            self._knocked.notify_all()
        if self.is_refusing:
            writer.transport.abort()
        else:
            self._tasks.spawn(self._carry(reader, writer), name="wire")

    async def _carry(self, client_reader: asyncio.StreamReader, client: asyncio.StreamWriter) -> None:
        try:
            server_reader, server = await asyncio.open_connection("127.0.0.1", self.server_port)
        except OSError:
            client.transport.abort()
            return
        async with self._wire(Wire(client, server)) as wire:
            carrying = [
                self._tasks.spawn(self._from_client(client_reader, wire), name="to server"),
                self._tasks.spawn(self._from_server(server_reader, wire), name="to client"),
            ]
            try:
                await asyncio.wait(carrying, return_when=asyncio.FIRST_COMPLETED)
                if self.is_lingering:
                    await self._may_end.wait()
            finally:
                for task in carrying:
                    task.cancel()

    @contextlib.asynccontextmanager
    async def _wire(self, wire: Wire) -> AsyncIterator[Wire]:
        self._wires.add(wire)
        try:
            yield wire
        finally:
            self._wires.discard(wire)
            wire.cut()
            for writer in (wire.client, wire.server):
                with contextlib.suppress(OSError):
                    await writer.wait_closed()

    async def _from_client(self, reader: asyncio.StreamReader, wire: Wire) -> None:
        frames = Frames()
        with contextlib.suppress(OSError):
            while data := await reader.read(READ_BYTES):
                for frame in frames.feed(data):
                    if len(wire.said) < GHOST_BYTES:
                        wire.said += frame
                    if not await self._passed_on(frame, wire.server):
                        self._may_haunt(wire)
                        return

    async def _from_server(self, reader: asyncio.StreamReader, wire: Wire) -> None:
        frames = Frames()
        to_server = wire.server.get_extra_info("socket")
        with contextlib.suppress(OSError):
            while data := await reader.read(READ_BYTES):
                # The real server waits for this before it sends its next small message.
                to_server.setsockopt(socket.IPPROTO_TCP, socket.TCP_QUICKACK, 1)
                for frame in frames.feed(data):
                    if not self._may_speak.is_set():
                        self.something_held.set()
                        await self._may_speak.wait()
                    if not await self._passed_on(frame, wire.client):
                        self._may_haunt(wire)
                        return

    async def _passed_on(self, frame: bytes, to: asyncio.StreamWriter) -> bool:
        """Pass it on: late, twice, or as it is; or only its beginning, which is a cut and means False."""
        if self._happens(self.faults.cut):
            to.write(frame[: self._dice.randrange(len(frame) + 1)])
            await to.drain()
            self.cuts += 1
            return False
        if self._happens(self.faults.delay):
            await self._delay()
        to.write(frame)
        if frame[0] == TEXT_WHOLE and self._happens(self.faults.repeat):
            to.write(frame)
            self.repeats += 1
        await to.drain()
        return True

    async def _delay(self) -> None:
        await asyncio.sleep(self._dice.random() * self.faults.longest_delay)  # the fault itself

    def _may_haunt(self, wire: Wire) -> None:
        if self._happens(self.faults.ghost):
            self.ghosts += 1
            self._tasks.spawn(self._haunt(bytes(wire.said)), name="ghost")

    async def _haunt(self, said: bytes) -> None:
        """Say again what a client had said, hear nothing, and vanish."""
        with contextlib.suppress(OSError):
            _, server = await asyncio.open_connection("127.0.0.1", self.server_port)
            server.write(said)
            await self._delay()
            server.transport.abort()
            await server.wait_closed()

    def _happens(self, chance: float) -> bool:
        return self._dice.random() < chance
