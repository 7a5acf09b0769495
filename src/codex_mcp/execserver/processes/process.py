"""One running child: reads what it writes, numbers it, sends it on; notices its end; signals it.

    reading stops while                                    so that
    -----------------------------------------------------  ------------------------------------------
    the client's socket is full                            a slow client slows the child down
    nobody is connected and the log is full                a client that comes back has missed nothing

Events leave in the order of their numbers. After a client came back they are held until it has read what it missed
(`process/read`), or for a moment, and then leave from where the last connection stopped.
"""

from __future__ import annotations

import asyncio
import logging
import os
import signal
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from typing import Final, Protocol

import msgspec

from codex_mcp.base.futures import resolve
from codex_mcp.execserver.launch import Child, bury, set_size
from codex_mcp.execserver.processes.groups import members
from codex_mcp.execserver.processes.output import Closed, Event, Exited, OutputLog
from codex_mcp.execserver.processes.stdin import Stdin
from codex_mcp.execserver.processes.terminal_keys import press_keys
from codex_mcp.execserver.sandbox.denial import looks_denied
from codex_mcp.wire.exec.base64 import encode_base64_bytes
from codex_mcp.wire.exec.envelope import encode_notification
from codex_mcp.wire.exec.protocol import Chunk, OutputStream, ProcessClosed, ProcessExited

logger = logging.getLogger(__name__)

CHUNK_BYTES: Final = 64 * 1024
"""One read: all that a pipe holds. Codex buffers 1 MiB of early events, so a chunk must stay far below."""

RETAINED_BYTES: Final = 1024 * 1024
RETAINED_CHUNKS: Final = 50_000
"""What can be read again, per process; the real server's numbers, which clients count on."""

SETTLING: Final = 0.1
SETTLING_BYTES: Final = 256 * 1024
SETTLING_COST: Final = 4 * 1024
"""A client that has just read what it missed may not have put it in its place yet. Codex fails a process of which more
than 1 MiB or 256 events arrive meanwhile; so for a moment it is sent this much, a small event counting for a larger."""

TERMINAL_READS: Final = 16
"""A terminal hands out 4 KiB at a time; so many of them make one chunk."""

LAST_READS: Final = 16
"""When the child has ended, what it left in the pipe is read first, unless another goes on writing."""

READS_AT_ONCE: Final = 4
"""Full chunks that are read from one process before the others have their turn."""

BUSY_READS: Final = 8
BUSY_PAUSE: Final = 0.001
"""A child that writes in small pieces would wake us for each. After so many short reads in a row it is left alone for a
millisecond: its pipe holds what it writes meanwhile. Answers to what a client writes are no such row."""

TERMINAL_KILLED: Final = 1
"""0.166.0 says 1 for a child on a terminal that a signal ended, and 128 + the signal for one on pipes."""

WAIT_FAILED: Final = -1


def _nobody(_process: Process) -> None:
    """Nobody wants to know."""


class Outlet(Protocol):
    """Where messages to the client go."""

    def send(self, *parts: bytes) -> None:
        """Queue one message, given in pieces."""


@dataclass(slots=True)
class Audience:
    """Who listens to the processes of one session: nobody, or a connection that may be too slow just now."""

    outlet: Outlet | None = None
    is_full: bool = False


class Process:
    """A child and its numbered events."""

    def __init__(self, process_id: str, child: Child, audience: Audience, *, is_sandboxed: bool) -> None:
        self.process_id = process_id
        self.log = OutputLog(RETAINED_BYTES, RETAINED_CHUNKS)
        self._child = child
        self._audience = audience
        self._is_sandboxed = is_sandboxed
        self._loop = asyncio.get_running_loop()
        self._is_terminal = child.stderr is None
        self.stdin = Stdin(child.stdin, is_terminal=self._is_terminal) if child.stdin is not None else None
        self._streams = {child.stdout: OutputStream.PTY if self._is_terminal else OutputStream.STDOUT}
        if child.stderr is not None:
            self._streams[child.stderr] = OutputStream.STDERR
        self._reading: set[int] = set()
        self._may_read = False
        self._short_reads = 0
        self._last_read = 0.0
        self._rest: asyncio.TimerHandle | None = None
        self._is_live = audience.outlet is not None
        self._settling: asyncio.TimerHandle | None = None
        self._credit = 0
        self._waiters: set[asyncio.Future[None]] = set()
        self.was_terminated = False
        self.is_wrapped = False
        """The child is bubblewrap, which ends with all it holds when it is interrupted itself."""
        self.on_closed: Callable[[Process], None] = _nobody
        name = msgspec.json.encode(process_id)
        self._head = b'{"method":"process/output","params":{"processId":' + name + b',"seq":'
        self._loop.add_reader(child.pidfd, self._ended)
        self._choose_reading()

    def __repr__(self) -> str:
        return f"<Process {self.process_id} pid {self._child.pid} {self.log!r}>"

    @property
    def is_running(self) -> bool:
        """The child itself has not ended."""
        return self.log.exited is None

    @property
    def is_reading(self) -> bool:
        """What the child writes is read; else it waits, once its pipe is full."""
        return bool(self._reading)

    # What the client asks for.

    def was_read(self, through: int) -> None:
        """A read told the client everything up to this number; if events were held for that, they may leave now."""
        if not self._is_live and self._audience.outlet is not None:
            self.log.mark_sent(through)
            self._credit = SETTLING_BYTES
            self._settling = self._loop.call_later(SETTLING, self._settled)
            self.go_live()

    def _settled(self) -> None:
        if self._settling is not None:
            self._settling.cancel()
        self._settling = None
        self._choose_reading()

    async def wait_for_news(self, after: int, timeout: float) -> None:
        """Return when a read after this number would find something, or when the time is over."""
        with suppress(TimeoutError):
            async with asyncio.timeout(timeout):
                while not self.log.has_news(after):
                    waiter = self._loop.create_future()
                    self._waiters.add(waiter)
                    try:
                        await waiter
                    finally:
                        self._waiters.discard(waiter)

    def was_written(self) -> None:
        """It got input: what it says now may be an answer, for which somebody waits."""
        self._short_reads = 0

    def interrupt(self) -> None:
        """SIGINT to the whole group."""
        if self.is_wrapped:
            self._signal_inside(signal.SIGINT)
        else:
            self._signal(signal.SIGINT)

    def write(self, data: bytes) -> asyncio.Future[None] | None:
        """Write to its input. If there was no room, a future says when there is. Raises StdinFull."""
        assert self.stdin is not None, "only what has an input is written to"
        if self.is_wrapped and self._is_terminal and self._child.stdout in self._streams:
            data, pressed = press_keys(self._child.stdout, self._child.pid, data)
            for number in pressed:
                self._signal_inside(number)
        return self.stdin.write(data)

    def terminate(self) -> bool:
        """Kill the whole group; the answer says whether the child itself still ran."""
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
        """Tell the terminal its size."""
        if self._is_terminal and self._child.stdout in self._streams:
            set_size(self._child.stdout, rows, columns)

    @property
    def has_terminal(self) -> bool:
        """It runs on a pseudo-terminal."""
        return self._is_terminal

    # What the session tells.

    def audience_changed(self) -> None:
        """The client came, went, became too slow, or can read again."""
        if self._audience.outlet is None:
            self._is_live = False
            self._settled()
        else:
            self._choose_reading()

    def go_live(self) -> None:
        """Send what nobody was sent, and from now on everything at once."""
        if self._is_live or self._audience.outlet is None:
            return
        for event in self.log.unsent():
            self._send(event)
        self._is_live = True
        self._choose_reading()

    # What happens.

    def _signal(self, number: signal.Signals) -> None:
        # Until it is closed we have not buried the child, so its number, which is the group's, is nobody else's.
        if self.log.closed is None:
            with suppress(ProcessLookupError, PermissionError):
                os.killpg(self._child.pid, number)

    def _signal_inside(self, number: signal.Signals) -> None:
        """To all of the group but the first, which is bubblewrap's."""
        for pid in members(self._child.pid):
            if pid != self._child.pid:
                with suppress(ProcessLookupError, PermissionError):
                    os.kill(pid, number)

    def _choose_reading(self) -> None:
        """Read from the child, or let it wait."""
        has_room = self._has_credit() if self._is_live else self.log.has_room(CHUNK_BYTES)
        self._may_read = has_room and not self._audience.is_full
        wanted = self._may_read and self._rest is None
        for fd in list(self._streams):
            if wanted and fd not in self._reading:
                self._reading.add(fd)
                self._loop.add_reader(fd, self._readable, fd)
            elif not wanted and fd in self._reading:
                self._reading.discard(fd)
                self._loop.remove_reader(fd)

    def _has_credit(self) -> bool:
        return self._settling is None or self._credit > 0

    def _readable(self, fd: int) -> None:
        for _ in range(READS_AT_ONCE):
            size = self._read_once(fd)
            if size < CHUNK_BYTES or not self._may_read:
                break
        if 0 < size < CHUNK_BYTES // 2:
            self._rest_if_busy()

    def _rest_if_busy(self) -> None:
        now = self._loop.time()
        self._short_reads = self._short_reads + 1 if now - self._last_read < BUSY_PAUSE else 0
        self._last_read = now
        if self._short_reads >= BUSY_READS and self._rest is None:
            self._rest = self._loop.call_later(BUSY_PAUSE, self._rested)
            self._choose_reading()

    def _rested(self) -> None:
        self._rest = None
        self._last_read = self._loop.time()
        self._choose_reading()

    def _read_once(self, fd: int) -> int:
        """Read one chunk. The answer is its size."""
        try:
            data = self._read_terminal(fd) if self._is_terminal else os.read(fd, CHUNK_BYTES)
        except BlockingIOError:
            return 0
        except OSError:
            data = b""  # EIO: the last one who had the terminal open is gone
        if not data:
            self._end_of(fd)
            return 0
        event = self.log.append(self._streams[fd], data)
        if self._is_live:
            self._send(event)
            self._credit -= max(len(data), SETTLING_COST)
        if not self._is_live or self._settling is not None:
            self._choose_reading()
        self._wake()
        return len(data)

    def _read_terminal(self, fd: int) -> bytes:
        parts = [os.read(fd, CHUNK_BYTES)]
        with suppress(OSError):  # it will be met again by the next read
            while parts[-1] and len(parts) < TERMINAL_READS:
                parts.append(os.read(fd, CHUNK_BYTES))
        return b"".join(parts)

    def _end_of(self, fd: int) -> None:
        del self._streams[fd]
        if fd in self._reading:
            self._reading.discard(fd)
            self._loop.remove_reader(fd)
        os.close(fd)
        self._close_if_done()

    def _ended(self) -> None:
        self._loop.remove_reader(self._child.pidfd)
        for fd in list(self._streams):
            for _ in range(LAST_READS):
                if not self._may_read or not self._read_once(fd):
                    break
        denied = self._is_sandboxed and looks_denied(self._exit_code(), self.log.read(0, None).chunks)
        self._happened(self.log.exit(self._exit_code(), sandbox_denied=denied))
        if self.was_terminated:
            self._close_streams()  # whoever fled from the group and holds them will not be waited for
        self._close_if_done()

    def _exit_code(self) -> int:
        # Not buried yet (WNOWAIT): its number must stay its own while others of its group may live.
        try:
            status = os.waitid(os.P_PID, self._child.pid, os.WEXITED | os.WNOWAIT)
        except ChildProcessError:
            return WAIT_FAILED
        if status is None or status.si_code == os.CLD_EXITED:
            return WAIT_FAILED if status is None else status.si_status
        return TERMINAL_KILLED if self._is_terminal else 128 + status.si_status

    def _close_streams(self) -> None:
        for fd in list(self._streams):
            self._end_of(fd)

    def _close_if_done(self) -> None:
        if self._streams or self.log.exited is None or self.log.closed is not None:
            return
        for timer in (self._rest, self._settling):
            if timer is not None:
                timer.cancel()
        if self.stdin is not None:
            self.stdin.close()
        bury(self._child.pid, os.WNOHANG)
        os.close(self._child.pidfd)
        closed = self.log.close()
        # First: whoever hears of the end finds everything put away. And once: it holds all that the start needed.
        on_closed, self.on_closed = self.on_closed, _nobody
        on_closed(self)
        self._happened(closed)

    def _happened(self, event: Event) -> None:
        if self._is_live:
            self._send(event)
        self._wake()

    def _wake(self) -> None:
        for waiter in self._waiters:
            resolve(waiter, None)

    def _send(self, event: Event) -> None:
        outlet = self._audience.outlet
        assert outlet is not None, "only a live process sends"
        match event:
            case Chunk(seq, stream, data):
                middle = b'%b%d,"stream":"%b","chunk":"' % (self._head, seq, stream.encode())
                outlet.send(middle, encode_base64_bytes(data), b'"}}')
            case Exited(seq, code, denied):
                outlet.send(encode_notification("process/exited", ProcessExited(self.process_id, seq, code, denied)))
            case Closed(seq):
                outlet.send(encode_notification("process/closed", ProcessClosed(self.process_id, seq)))
        self.log.mark_sent(event.seq)
