"""Our own stdin and stdout as a channel.

The event loop reads and writes pipes and sockets. It cannot watch anything else (a file, a terminal, /dev/null): such
an input is read by a thread, and such an output is written directly, which never blocks for long.
"""

from __future__ import annotations

import asyncio
import contextlib
import errno
import os
import socket
import stat
import threading
from collections import OrderedDict
from collections.abc import Callable, Coroutine
from functools import partial
from typing import IO, Any, Final, Protocol

from codex_mcp.rpc.channel import FrameKind, Receiver
from codex_mcp.transports import framing
from codex_mcp.transports.outgoing import OutgoingBytes, OutgoingSocketBytes
from codex_mcp.wire.jsonrpc import Id

READ_BYTES = 1 << 18
"""A pipe holds 64 KiB on Linux, so a read never returns more; the rest is for files and large pipes."""


CHECK_INTERVAL = 0.2
"""Seconds between two checks whether the loop is closed; the reading thread then ends."""


ANSWERS_NOTED: Final = 64
"""The newest answers of which we know whether they were read."""


async def read_frames(stream: asyncio.StreamReader, frames: framing.FrameReader, receiver: Receiver) -> None:
    """Hand each frame of a stream to the receiver, until the end."""
    try:
        while data := await stream.read(READ_BYTES):
            for frame in frames.feed(data):
                if (pause := receiver.frame_received(frame)) is not None:
                    await pause
            data = frame = b""  # they are not kept until the next ones come
        for frame in frames.end():
            receiver.frame_received(frame)
    finally:
        receiver.connection_lost()


class _Output(Protocol):
    @property
    def unread(self) -> int: ...

    def write(self, data: bytes) -> None: ...

    async def drain(self, below: int) -> None: ...

    async def until_lost(self) -> None: ...

    async def aclose(self) -> None: ...


class StdioChannel:
    """Frames on two file descriptors, separated as the other side does it."""

    def __init__(
        self,
        reader: asyncio.StreamReader,
        close_input: Callable[[], None],
        output: _Output,
        max_message_bytes: int,
    ) -> None:
        self._reader = reader
        self._close_input = close_input
        self._output = output
        self._frames = framing.FrameReader(max_message_bytes)
        self._written = 0
        self._answers: OrderedDict[Id, int] = OrderedDict()
        """Where in our output each answer ends."""
        self._only_answers = False

    def read(self, receiver: Receiver) -> Coroutine[Any, Any, None]:
        return read_frames(self._reader, self._frames, receiver)

    def send(self, frame: bytes, about: Id | None = None, kind: FrameKind = FrameKind.NOTIFICATION) -> None:
        if self._only_answers and kind is not FrameKind.ANSWER:
            return
        data = framing.encode(frame, self._frames.style)
        self._written += len(data)
        if kind is FrameKind.ANSWER and about is not None:
            self._answers[about] = self._written
            if len(self._answers) > ANSWERS_NOTED:
                self._answers.popitem(last=False)
        self._output.write(data)

    def send_only_answers(self) -> None:
        """The client will ask nothing more: nothing but the answers that it still waits for may follow."""
        self._only_answers = True

    def is_unread(self, request_id: Id) -> bool:
        """Whether the answer to this request is known to wait where the client has not read it yet."""
        return self._answers.get(request_id, 0) > self._written - self._output.unread

    async def drain(self, below: int) -> None:
        await self._output.drain(below)

    async def until_unread(self) -> None:
        await self._output.until_lost()

    async def aclose(self) -> None:
        self._close_input()
        await self._output.aclose()


async def open_stdio(stdin: IO[bytes], stdout: IO[bytes], max_message_bytes: int) -> StdioChannel:
    reader, close_input = await _open_input(stdin)
    output = await _open_output(stdout, is_stdin=_are_one(stdin.fileno(), stdout.fileno()))
    return StdioChannel(reader, close_input, output, max_message_bytes)


def _is_pipe(fd: int) -> bool:
    return stat.S_ISFIFO(os.fstat(fd).st_mode)


def _is_socket(fd: int) -> bool:
    return stat.S_ISSOCK(os.fstat(fd).st_mode)


def _are_one(one: int, other: int) -> bool:
    return os.path.sameopenfile(one, other)


async def _open_input(stdin: IO[bytes]) -> tuple[asyncio.StreamReader, Callable[[], None]]:
    loop = asyncio.get_running_loop()
    reader = asyncio.StreamReader(limit=READ_BYTES)
    if _is_pipe(stdin.fileno()) or _is_socket(stdin.fileno()):
        transport, _ = await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), stdin)
        return reader, transport.close
    # A daemon: a read from a terminal cannot be interrupted, and must not keep the process alive.
    threading.Thread(target=_read_blocking, args=(stdin.fileno(), reader, loop), name="stdin", daemon=True).start()
    return reader, lambda: None


def _read_blocking(fd: int, reader: asyncio.StreamReader, loop: asyncio.AbstractEventLoop) -> None:
    with contextlib.suppress(RuntimeError):  # the loop is closed
        while (data := _read(fd)) and _fed(data, reader, loop):
            pass
        loop.call_soon_threadsafe(reader.feed_eof)


def _fed(data: bytes, reader: asyncio.StreamReader, loop: asyncio.AbstractEventLoop) -> bool:
    """Wait until the loop has taken the data, so that at most one read is in progress. False: the loop is closed."""
    taken = threading.Event()

    def feed() -> None:
        reader.feed_data(data)
        taken.set()

    loop.call_soon_threadsafe(feed)
    while not taken.wait(CHECK_INTERVAL):
        if loop.is_closed():
            return False
    return True


def _read(fd: int) -> bytes:
    try:
        return os.read(fd, READ_BYTES)
    except OSError:
        return b""  # the terminal was closed


async def _open_output(stdout: IO[bytes], *, is_stdin: bool) -> _Output:
    loop = asyncio.get_running_loop()
    if _is_pipe(stdout.fileno()):
        return (await loop.connect_write_pipe(partial(OutgoingBytes, stdout.fileno()), stdout))[1]
    if _is_socket(stdout.fileno()):
        # Not as a pipe: if stdin is the same socket (under socat or inetd), asyncio would take the client's input for
        # the end of the pipe.
        our_end = socket.socket(fileno=os.dup(stdout.fileno()))
        return (await loop.connect_accepted_socket(lambda: OutgoingSocketBytes(is_watched=not is_stdin), our_end))[1]
    return _BlockingOutput(stdout.fileno())


class _BlockingOutput:
    """A file or a terminal."""

    def __init__(self, fd: int) -> None:
        self._fd = fd
        self._lost = asyncio.Event()

    @property
    def unread(self) -> int:
        return 0

    def write(self, data: bytes) -> None:
        view = memoryview(data)
        try:
            while view:
                view = view[os.write(self._fd, view) :]
        except OSError as exc:
            if exc.errno in (errno.EPIPE, errno.EIO):  # a closed terminal; a full disk may have space again later
                self._lost.set()

    async def drain(self, below: int) -> None:
        """Nothing is ever queued."""

    async def until_lost(self) -> None:
        await self._lost.wait()

    async def aclose(self) -> None:
        """Nothing is ever queued."""
