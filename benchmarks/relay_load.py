"""Ends of a relay that cost next to nothing: blocking sockets, frames made in advance, bytes that are only counted."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Sequence
from threading import Semaphore, Thread
from urllib.parse import urlsplit

from benchmarks.clients import Stopwatch
from benchmarks.exec_frames import BINARY, framed
from benchmarks.exec_talk import HANDSHAKE, PATIENCE, READ_BYTES
from benchmarks.lines import NoAnswer
from codex_mcp.relay.frames import Data, Frame, Handshake, encode
from codex_mcp.relay.keys import PublicKeys
from codex_mcp.relay.records import SEALED_BYTES
from codex_mcp.relay.registry_client import RegistryClient
from codex_mcp.transports.websockets.frames import frame_header

BURST = 8
"""Frames that are sent at once: half a megabyte."""

BURSTS_ON_THE_WAY = 2
"""Of one stream. Together they have as many bytes as an executor of ours sends without an acknowledgement."""

FIRST = Handshake(bytes(3900))
"""As long as a real one."""


class RawEnd:
    """One relay socket."""

    def __init__(self, url: str) -> None:
        parts = urlsplit(url)
        assert parts.hostname is not None
        self.socket = socket.create_connection((parts.hostname, parts.port), PATIENCE)
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.socket.sendall(HANDSHAKE % (parts.path.encode(), parts.netloc.encode()))
        heard = b""
        while b"\r\n\r\n" not in heard:
            heard += self.socket.recv(READ_BYTES)
        if b" 101 " not in heard[:20]:
            raise NoAnswer("cannot measure: the rendezvous refused a socket")

    def send(self, frame: Frame) -> None:
        self.socket.sendall(framed(encode(frame), BINARY))

    def skip(self, frame: Frame) -> None:
        """Read one frame that is as long as this one."""
        read(self.socket, on_the_wire(frame))

    def close(self) -> None:
        self.socket.close()


def on_the_wire(frame: Frame) -> int:
    """Bytes of a frame that a rendezvous sends."""
    size = len(encode(frame))
    return len(frame_header(size, BINARY)) + size


def read(source: socket.socket, size: int) -> None:
    """Read so many bytes and forget them."""
    buffer = memoryview(bytearray(READ_BYTES))
    while size:
        count = source.recv_into(buffer[: min(size, READ_BYTES)])
        if not count:
            raise NoAnswer("cannot measure: the rendezvous closed a socket")
        size -= count


def executor(registry: RegistryClient, environment_id: str, keys: PublicKeys) -> RawEnd:
    return RawEnd(asyncio.run(registry.register(environment_id, keys, "")).url)


def harness(registry: RegistryClient, environment_id: str, keys: PublicKeys) -> RawEnd:
    return RawEnd(asyncio.run(registry.connect(environment_id, keys)).url)


def begin(harness: RawEnd, executor: RawEnd, stream_id: str) -> None:
    """Let a stream begin."""
    harness.send(first := Frame(stream_id, FIRST))
    executor.skip(first)


def full_frame(stream_id: str) -> Frame:
    """As an executor sends output."""
    return Frame(stream_id, Data(1, bytes(SEALED_BYTES)))


def rate(sender: socket.socket, receivers: Sequence[socket.socket], streams: Sequence[str], bursts: int) -> float:
    """Megabytes of frames per second from one sender to several receivers, each with its stream."""
    parts = [framed(encode(full_frame(stream)), BINARY) * BURST for stream in streams]
    sizes = [on_the_wire(full_frame(stream)) * BURST for stream in streams]
    return _timed(sender, list(zip(receivers, parts, sizes, strict=True)), bursts)


def bare_rate(bursts: int) -> float:
    """The same bytes over one TCP connection, without a rendezvous: as fast as this end can be."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        near = socket.create_connection(listener.getsockname())
        far, _ = listener.accept()
    with near, far:
        part = framed(encode(full_frame("bare")), BINARY) * BURST
        return _timed(near, [(far, part, len(part))], bursts)


def _timed(sender: socket.socket, ways: Sequence[tuple[socket.socket, bytes, int]], bursts: int) -> float:
    room = [Semaphore(BURSTS_ON_THE_WAY) for _ in ways]
    failures: list[NoAnswer | OSError] = []

    def receive(number: int, source: socket.socket, size: int) -> None:
        try:
            for _ in range(bursts):
                read(source, size)
                room[number].release()
        except (NoAnswer, OSError) as exc:
            failures.append(exc)
            room[number].release(bursts)

    threads = [Thread(target=receive, args=(number, way[0], way[2])) for number, way in enumerate(ways)]
    for thread in threads:
        thread.start()
    watch = Stopwatch()
    for _ in range(bursts):
        for free, (_, part, _) in zip(room, ways, strict=True):
            free.acquire()
            sender.sendall(part)
    for thread in threads:
        thread.join()
    if failures:
        raise failures[0]
    return sum(len(part) for _, part, _ in ways) * bursts / 1000 / watch.milliseconds()
