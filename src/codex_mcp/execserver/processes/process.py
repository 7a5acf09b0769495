"""One running child: reads, numbers and sends its output, detects its end, and signals it.

`pacing` decides when its output is read: a slow client slows the child down, and one that returns has missed nothing.
Events are sent in the order of their numbers. After a client has returned, they are held until it has read what it
missed (`process/read`), or for a moment, and then continue where the last connection stopped.
"""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import Callable
from contextlib import suppress
from enum import StrEnum
from typing import Final

import msgspec

from codex_mcp.base.futures import Waiters
from codex_mcp.execserver.envelope import SendMessage, encode_notification
from codex_mcp.execserver.launch import Child, reap, set_size
from codex_mcp.execserver.processes.interrupts import press_keys, signal_members
from codex_mcp.execserver.processes.output import Event, OutputLog, looks_denied
from codex_mcp.execserver.processes.pacing import Pacing
from codex_mcp.execserver.processes.stdin import Stdin
from codex_mcp.wire.exec.base64 import encode_base64_bytes
from codex_mcp.wire.exec.protocol import Chunk, OutputStream, ProcessExited

CHUNK_BYTES: Final = 64 * 1024
"""One read: the default capacity of a pipe. Codex buffers 1 MiB of early events, so a chunk must be much smaller."""

RETAINED_BYTES: Final = 1024 * 1024
RETAINED_CHUNKS: Final = 50_000
"""What can be read again, per process; the real server's numbers, which clients rely on."""

SETTLING: Final = 0.1
"""Seconds in which a client that has read what it missed is sent only a little."""

TERMINAL_READS: Final = 16
"""A terminal returns 4 KiB at a time; this many reads make one chunk."""

LAST_READS: Final = 16
"""Reads of what a child has left in the pipe, after its end; a limit, because another process may still write."""

READS_AT_ONCE: Final = 4
"""Full chunks read from one process before others have their turn."""

TERMINAL_KILLED: Final = 1
"""The exit code of a child on a terminal that a signal ended, as in 0.166.0; on pipes it is 128 + the signal."""

WAIT_FAILED: Final = -1


class Sandboxing(StrEnum):
    NONE = "none"
    UNLIMITED = "unlimited"
    """By a sandbox object that limits nothing."""
    BUBBLEWRAP = "bubblewrap"
    """The child is bubblewrap, which ends together with everything inside when it is interrupted itself."""


class Audience:
    """The client that listens to the processes of one session: none, or a connection that may be too slow."""

    def __init__(self, send: SendMessage | None = None) -> None:
        self.send = send
        self.is_full = False

    def attach(self, send: SendMessage) -> None:
        self.send = send

    def detach(self) -> None:
        self.send, self.is_full = None, False

    def set_full(self, *, is_full: bool) -> None:
        self.is_full = is_full


class Process:
    def __init__(
        self,
        process_id: str,
        child: Child,
        audience: Audience,
        sandboxing: Sandboxing = Sandboxing.NONE,
        on_closed: Callable[[Process], None] | None = None,
    ) -> None:
        self.process_id = process_id
        self.log = OutputLog(process_id, RETAINED_BYTES, RETAINED_CHUNKS)
        self._child = child
        self._audience = audience
        self._sandboxing = sandboxing
        self._on_closed = on_closed
        self._loop = asyncio.get_running_loop()
        self.stdin = Stdin(child.stdin, is_terminal=self.is_terminal) if child.stdin is not None else None
        self._streams = {child.stdout: OutputStream.PTY if self.is_terminal else OutputStream.STDOUT}
        if child.stderr is not None:
            self._streams[child.stderr] = OutputStream.STDERR
        self._pacing = Pacing(is_live=audience.send is not None)
        self._settling: asyncio.TimerHandle | None = None
        self._news = Waiters()
        self.was_terminated = False
        name = msgspec.json.encode(process_id)
        self._head = b'{"method":"process/output","params":{"processId":' + name + b',"seq":'
        self._loop.add_reader(child.pidfd, self._ended)
        self._choose_reading()

    @property
    def is_terminal(self) -> bool:
        return self._child.stderr is None

    @property
    def is_running(self) -> bool:
        return self.log.exited is None

    @property
    def is_reading(self) -> bool:
        """Whether output is read; if not, the child blocks once its pipe is full."""
        return self._pacing.is_reading

    def was_read(self, through: int) -> None:
        """A read returned everything up to this number; events held for that can be sent now."""
        if not self._pacing.is_live and self._audience.send is not None:
            self.log.mark_sent(through)
            self._pacing.settle()
            self._settling = self._loop.call_later(SETTLING, self._settled)
            self.go_live()

    def _settled(self) -> None:
        self._pacing.settled()
        self._choose_reading()

    async def wait_for_news(self, after: int, timeout: float) -> None:
        """Return when a read after this number would find something, or at the timeout."""
        with suppress(TimeoutError):
            async with asyncio.timeout(timeout):
                while not self.log.has_news(after):
                    await self._news.wait()

    def interrupt(self) -> None:
        if self._sandboxing is Sandboxing.BUBBLEWRAP:
            signal_members(self._child.pid, signal.SIGINT)
        else:
            self._signal(signal.SIGINT)

    def write(self, data: bytes) -> asyncio.Future[None] | None:
        """Write to stdin. If it is full, the returned future is done when there is room. Raises StdinFull."""
        assert self.stdin is not None, "the process has a stdin"
        is_wrapped = self._sandboxing is Sandboxing.BUBBLEWRAP
        if is_wrapped and self.is_terminal and self._child.stdout in self._streams:
            data, pressed = press_keys(self._child.stdout, self._child.pid, data)
            for number in pressed:
                signal_members(self._child.pid, number)
        room = self.stdin.write(data)
        self._pacing.was_written_to()
        return room

    def terminate(self) -> bool:
        """Kill the whole group; return whether the child itself was running."""
        was_running = self.is_running
        if self.log.closed is None:
            self.was_terminated = True
            self._signal(signal.SIGKILL)
            if self.stdin is not None:
                self.stdin.close()
            if not was_running:
                self._close_streams()
        return was_running

    def resize(self, rows: int, columns: int) -> None:
        if self.is_terminal and self._child.stdout in self._streams:
            set_size(self._child.stdout, rows, columns)

    def audience_changed(self) -> None:
        """The client connected, disconnected, became too slow, or has caught up."""
        if self._audience.send is None:
            self._pacing.client_left()
            if self._settling is not None:
                self._settling.cancel()
        self._choose_reading()

    def go_live(self) -> None:
        """Send what has not been sent, and from now on every event at once."""
        if self._pacing.is_live or self._audience.send is None:
            return
        for event in self.log.unsent():
            self._send(event)
        self._pacing.go_live()
        self._choose_reading()

    def _signal(self, number: signal.Signals) -> None:
        # The child is not reaped before it is closed, so its process id, which is the group's, is not reused.
        if self.log.closed is None:
            with suppress(ProcessLookupError, PermissionError):
                os.killpg(self._child.pid, number)

    @property
    def _may_read(self) -> bool:
        return self._pacing.may_read(has_room=self.log.has_room(CHUNK_BYTES), is_full=self._audience.is_full)

    def _choose_reading(self) -> None:
        if not self._pacing.choose(has_room=self.log.has_room(CHUNK_BYTES), is_full=self._audience.is_full):
            return
        for fd in self._streams:
            if self._pacing.is_reading:
                self._loop.add_reader(fd, self._readable, fd)
            else:
                self._loop.remove_reader(fd)

    def _readable(self, fd: int) -> None:
        for _ in range(READS_AT_ONCE):
            size = self._read_once(fd)
            if size < CHUNK_BYTES or not self._may_read:
                break
        if 0 < size < CHUNK_BYTES // 2 and (rest := self._pacing.was_short(self._loop.time())):
            self._loop.call_later(rest, self._rested)
            self._choose_reading()

    def _rested(self) -> None:
        self._pacing.rested(self._loop.time())
        self._choose_reading()

    def _read_once(self, fd: int) -> int:
        try:
            data = self._read_terminal(fd) if self.is_terminal else os.read(fd, CHUNK_BYTES)
        except BlockingIOError:
            return 0
        except OSError:
            data = b""  # EIO: no process has the terminal open any more
        if not data:
            self._end_of(fd)
            return 0
        event = self.log.append(self._streams[fd], data)
        if self._pacing.is_live:
            self._send(event)
            self._pacing.was_sent(len(data))
        if not self._pacing.is_live or self._pacing.is_settling:
            self._choose_reading()
        self._news.tell()
        return len(data)

    def _read_terminal(self, fd: int) -> bytes:
        parts = [os.read(fd, CHUNK_BYTES)]
        with suppress(OSError):  # the next read will raise it again
            while parts[-1] and len(parts) < TERMINAL_READS:
                parts.append(os.read(fd, CHUNK_BYTES))
        return b"".join(parts)

    def _end_of(self, fd: int) -> None:
        del self._streams[fd]
        self._loop.remove_reader(fd)
        os.close(fd)
        self._close_if_done()

    def _ended(self) -> None:
        self._loop.remove_reader(self._child.pidfd)
        for fd in list(self._streams):
            for _ in range(LAST_READS):
                if not self._may_read or not self._read_once(fd):
                    break
        code, is_sandboxed = self._exit_code(), self._sandboxing is not Sandboxing.NONE
        denied = is_sandboxed and looks_denied(code, self.log.read(0, None).chunks)
        self._publish(self.log.exit(code, sandbox_denied=denied))
        if self.was_terminated:
            self._close_streams()  # a process that left the group may hold them; do not wait for it
        self._close_if_done()

    def _exit_code(self) -> int:
        # WNOWAIT: not reaped yet, because others of its group may still run and its id must not be reused.
        try:
            status = os.waitid(os.P_PID, self._child.pid, os.WEXITED | os.WNOWAIT)
        except ChildProcessError:
            return WAIT_FAILED
        if status is None or status.si_code == os.CLD_EXITED:
            return WAIT_FAILED if status is None else status.si_status
        return TERMINAL_KILLED if self.is_terminal else 128 + status.si_status

    def _close_streams(self) -> None:
        for fd in list(self._streams):
            self._end_of(fd)

    def _close_if_done(self) -> None:
        if self._streams or self.log.exited is None or self.log.closed is not None:
            return
        if self.stdin is not None:
            self.stdin.close()
        reap(self._child.pid, os.WNOHANG)
        os.close(self._child.pidfd)
        closed = self.log.close()
        # Before the client is told, so that it finds everything released. Dropped, because it holds those resources.
        on_closed, self._on_closed = self._on_closed, None
        if on_closed is not None:
            on_closed(self)
        self._publish(closed)

    def _publish(self, event: Event) -> None:
        if self._pacing.is_live:
            self._send(event)
        self._news.tell()

    def _send(self, event: Event) -> None:
        send = self._audience.send
        assert send is not None, "only a live process sends"
        if isinstance(event, Chunk):
            middle = b'%b%d,"stream":"%b","chunk":"' % (self._head, event.seq, event.stream.encode())
            send(middle, encode_base64_bytes(event.chunk), b'"}}')
        elif isinstance(event, ProcessExited):
            send(encode_notification("process/exited", event))
        else:
            send(encode_notification("process/closed", event))
        self.log.mark_sent(event.seq)
