"""A handle for a process on the server that survives lost connections.

Events are published here in order, whichever connection delivered them, and kept until `events()` takes them.
"""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import AsyncGenerator
from typing import Final

from msgspec import Struct

from codex_mcp.execclient.connection import Connection
from codex_mcp.execclient.errors import ExecServerError, NotOffered, OutputUnread
from codex_mcp.execclient.flow import UNREAD_BYTES
from codex_mcp.execclient.link import Link
from codex_mcp.execclient.ordering import Event, EventOrder, event_bytes
from codex_mcp.execclient.unread import Unread
from codex_mcp.wire.exec import protocol
from codex_mcp.wire.exec.base64 import encode_base64

WRITE_BYTES: Final = 256 << 10
"""One write to stdin: large enough to be cheap, small enough not to delay other messages of the connection."""

REFUSED_WRITES: Final = {
    protocol.WriteStatus.UNKNOWN_PROCESS: "the server no longer knows it",
    protocol.WriteStatus.STDIN_CLOSED: "its stdin is closed; start it with a tty or with pipe_stdin to write to it",
    protocol.WriteStatus.STARTING: "it is still starting",
}


class Completed(Struct, frozen=True):
    """The output and exit code of a process that has ended."""

    exit_code: int
    stdout: bytes
    stderr: bytes
    """Empty for a process with a tty, where all output is in `stdout`."""


class Process:
    """Made by `ExecServerClient.start()`."""

    def __init__(self, process_id: str, link: Link) -> None:
        self.id = process_id
        self.exit_code: int | None = None
        """Set once the process has exited; its children may still write to its output."""
        self._link = link
        self._order = EventOrder(process_id)
        self._unread: Unread[Event] = Unread(link.flow)
        self._ended = asyncio.Event()
        self._is_being_read = False
        self._write_turn = asyncio.Lock()
        # Random, so that write ids differ from those of a client that had the session before.
        self._write_series = secrets.token_hex(4)
        self._writes = 0

    def __repr__(self) -> str:
        return f"<Process {self.id}: exit code {self.exit_code}, {self._order!r}>"

    @property
    def is_over(self) -> bool:
        return self._unread.is_over

    async def events(self) -> AsyncGenerator[Event, None]:
        """Each event once, in order; the last is `ProcessClosed`. Raises ProcessLost or SessionLost.

        One reader at a time; a later reader continues where the earlier one stopped.
        """
        if self._is_being_read:
            raise ExecServerError(f"cannot read the events of process {self.id}: they already have a reader")
        self._is_being_read = True
        try:
            async for event in self._unread.read():
                yield event
        finally:
            self._is_being_read = False

    async def collect(self) -> Completed:
        parts: dict[protocol.OutputStream, list[bytes]] = {stream: [] for stream in protocol.OutputStream}
        async for event in self.events():
            if isinstance(event, protocol.ProcessOutput):
                parts[event.stream].append(event.chunk)
        assert self.exit_code is not None, "a process closes after its exit"
        stdout = parts[protocol.OutputStream.STDOUT] + parts[protocol.OutputStream.PTY]
        return Completed(self.exit_code, b"".join(stdout), b"".join(parts[protocol.OutputStream.STDERR]))

    async def wait(self) -> int:
        """Return the exit code once the process has exited. Its output can still be read.

        A process that writes more than is kept unread fails: use `collect()`, or read `events()` meanwhile.
        """
        with self._link.flow.waiting():
            await self._ended.wait()
        if self.exit_code is None:
            assert self._unread.failure is not None, "it ended without an exit code"
            raise self._unread.failure
        return self.exit_code

    async def read(
        self, after_seq: int | None = None, *, max_bytes: int | None = None, wait_ms: int | None = None
    ) -> protocol.ProcessRead:
        """The output that the server retains, whether or not it was published here.

        A server that handles one request at a time does nothing else during `wait_ms`.
        """
        params = protocol.ReadProcess(self.id, after_seq, max_bytes, wait_ms)
        return await self._link.call_until_answered("process/read", params, protocol.ProcessRead)

    async def write(self, data: bytes) -> None:
        """Write to the terminal or to stdin, exactly once even if the connection breaks."""
        async with self._write_turn:  # so that a later write cannot overtake a repeated one
            for start in range(0, len(data), WRITE_BYTES):
                self._writes += 1
                chunk = encode_base64(data[start : start + WRITE_BYTES])
                params = protocol.WriteProcess(self.id, chunk, f"{self._write_series}-{self._writes}")
                answer = await self._link.call_until_answered("process/write", params, protocol.ProcessWritten)
                self._check_written("write to", answer)

    async def close_stdin(self) -> None:
        """Close stdin after everything that was written. Raises NotOffered."""
        self._check_offered("close the stdin of", offered=self._link.capabilities.process_close_stdin)
        async with self._write_turn:
            answer = await self._link.call_until_answered(
                "process/closeStdin", protocol.CloseStdin(self.id), protocol.ProcessWritten
            )
        self._check_written("close the stdin of", answer)

    async def resize(self, rows: int, cols: int) -> None:
        """Tell the process's terminal its new size. Raises NotOffered."""
        self._check_offered("resize the terminal of", offered=self._link.capabilities.process_resize)
        await self._link.call("process/resize", protocol.ResizeProcess(self.id, rows, cols), protocol.Empty)

    async def signal(self, signal: protocol.Signal = protocol.Signal.INTERRUPT) -> None:
        """Send a signal to the whole process group."""
        await self._link.call("process/signal", protocol.SignalProcess(self.id, signal), protocol.Empty)

    async def terminate(self) -> bool:
        """Kill the whole process group. False if the process had already ended."""
        answer = await self._link.call(
            "process/terminate", protocol.TerminateProcess(self.id), protocol.ProcessTerminated
        )
        return answer.running

    def event_received(self, event: Event) -> None:
        """An event arrived, perhaps out of order or twice. Raises ProcessLost."""
        if not self.is_over:
            self._publish(self._order.accept(event))

    async def catch_up(self, connection: Connection) -> None:
        """Fetch the events missed by a lost connection. Raises ProcessLost, RequestRefused, ConnectionLost."""
        params = protocol.ReadProcess(self.id, after_seq=self._order.published)
        read = await connection.call("process/read", params, protocol.ProcessRead)
        if not self.is_over:
            self._publish(self._order.catch_up(read))

    def fail(self, error: ExecServerError) -> None:
        """No further events will come, for this reason. Unread events can still be read."""
        if not self.is_over:
            self._unread.end(error)
            self._ended.set()

    def _publish(self, events: list[Event]) -> None:
        for event in events:
            if isinstance(event, protocol.ProcessExited):
                self.exit_code = event.exit_code
                self._ended.set()
            self._unread.add(event, event_bytes(event))
        if self._order.is_closed:
            self._unread.end()
        if self._unread.is_too_much:
            raise OutputUnread(self.id, UNREAD_BYTES)

    def _check_offered(self, what: str, *, offered: bool) -> None:
        if not offered:
            raise NotOffered(f"cannot {what} process {self.id}: this exec-server does not support it")

    def _check_written(self, what: str, answer: protocol.ProcessWritten) -> None:
        if answer.status is not protocol.WriteStatus.ACCEPTED:
            raise ExecServerError(f"cannot {what} process {self.id}: {REFUSED_WRITES[answer.status]}")
