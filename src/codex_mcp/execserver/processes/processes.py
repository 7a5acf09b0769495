"""The processes of one session, and the `process/*` methods. Closed processes stay readable for a while."""

from __future__ import annotations

import asyncio
from collections import OrderedDict, deque
from collections.abc import Coroutine, Mapping
from contextlib import suppress
from typing import Any, Final

from codex_mcp.base.file_uris import BadPath, ForeignPath, path_from_uri
from codex_mcp.execserver.envelope import SendMessage
from codex_mcp.execserver.errors import internal_error, invalid_params, invalid_request, os_error_text
from codex_mcp.execserver.launch import Child, ProcessSpec, launch, login_entry
from codex_mcp.execserver.processes.environment import child_environment
from codex_mcp.execserver.processes.process import Audience, Process, Sandboxing
from codex_mcp.execserver.processes.stdin import StdinFull
from codex_mcp.execserver.sandbox.confinement import ConfinedLaunch, Confinement
from codex_mcp.rpc.peer import call_once_answered
from codex_mcp.wire.exec import protocol
from codex_mcp.wire.exec.base64 import BadBase64, decode_base64

CLOSED_RETAINED: Final = 30.0
"""Seconds that a closed process stays readable: as long as a lost session can be resumed."""

CLOSED_BYTES: Final = 64 * 1024 * 1024
"""Output of closed processes that one session keeps; beyond it, the oldest are forgotten early."""

CLOSED_COUNT: Final = 16_384
"""Closed processes that one session keeps: half a minute of 500 starts per second."""

WRITE_IDS: Final = 4096
"""Writes of one process that are recognized when repeated."""

HELD: Final = 2.0
"""Seconds that events wait for a returned client to read what it missed. Codex takes 50 milliseconds, or a few times
that on a busy machine; events sent before its read would look like a gap."""

MAX_WAIT: Final = 3600.0
"""The longest wait of a read, in seconds."""

MAX_TERMINAL_SIDE: Final = 65_535
"""Rows and columns are 16 bits wide."""


class Processes:
    """All processes of a session, by the ids that its client chose. `start` to `close_stdin` are the methods."""

    def __init__(self, own_environment: Mapping[str, str], confinement: Confinement) -> None:
        self._own_environment = own_environment
        self._confinement = confinement
        self._loop = asyncio.get_running_loop()
        self._processes: dict[str, Process] = {}
        self._writes: dict[str, OrderedDict[str, None]] = {}
        """The ids of recent writes, by process."""
        self._closed: deque[tuple[Process, float]] = deque()
        self._closed_bytes = 0
        self._forgetting: asyncio.TimerHandle | None = None
        self._resuming: asyncio.TimerHandle | None = None
        self._all_closed: asyncio.Event = asyncio.Event()
        self._running = 0
        self._audience = Audience()

    def __len__(self) -> int:
        return len(self._processes)

    def start(self, asked: protocol.StartProcess) -> protocol.ProcessStarted:
        if not asked.argv:
            raise invalid_params("argv must not be empty")
        if asked.process_id in self._processes:
            raise invalid_request(f"process {asked.process_id} already exists")
        _refuse_unsupported(asked)
        confined = self._confinement.confine_process(self._spec_for(asked), asked.sandbox)
        child = _launched(confined)
        sandboxing = Sandboxing.NONE if asked.sandbox is None else Sandboxing.UNLIMITED
        self._processes[asked.process_id] = Process(
            asked.process_id,
            child,
            self._audience,
            Sandboxing.BUBBLEWRAP if confined.is_wrapped else sandboxing,
            on_closed=lambda process: self._was_closed(process, confined),
        )
        self._running += 1
        self._all_closed.clear()
        kind = protocol.SandboxType.LINUX_SECCOMP if asked.sandbox is not None else protocol.SandboxType.NONE
        return protocol.ProcessStarted(asked.process_id, kind)

    def read(self, asked: protocol.ReadProcess) -> protocol.ProcessRead | Coroutine[Any, Any, protocol.ProcessRead]:
        process = self._known(asked.process_id)
        if asked.wait_ms and not process.log.has_news(asked.after_seq or 0):
            return self._read_later(process, asked)
        return self._read_now(process, asked)

    def write(
        self, asked: protocol.WriteProcess
    ) -> protocol.ProcessWritten | Coroutine[Any, Any, protocol.ProcessWritten]:
        if asked.write_id == "":
            raise invalid_params("writeId must not be empty")
        try:
            data = decode_base64(asked.chunk)
        except BadBase64 as exc:
            raise invalid_params(str(exc)) from None
        process = self._processes.get(asked.process_id)
        if process is None:
            return protocol.ProcessWritten(protocol.WriteStatus.UNKNOWN_PROCESS)
        if process.stdin is None:
            return protocol.ProcessWritten(protocol.WriteStatus.STDIN_CLOSED)
        seen = self._writes.setdefault(asked.process_id, OrderedDict())
        if asked.write_id in seen:
            return protocol.ProcessWritten(protocol.WriteStatus.ACCEPTED)
        if process.was_terminated:
            raise internal_error("failed to write to process stdin")
        if process.stdin.was_ended:
            return protocol.ProcessWritten(protocol.WriteStatus.STDIN_CLOSED)
        try:
            room = process.write(data)
        except StdinFull:
            text = "cannot write to process stdin: the process does not read it; try again later"
            raise internal_error(text) from None
        _remember(seen, asked.write_id)
        return protocol.ProcessWritten(protocol.WriteStatus.ACCEPTED) if room is None else _wait_for_room(room)

    def signal(self, asked: protocol.SignalProcess) -> protocol.Empty:
        process = self._processes.get(asked.process_id)
        if process is not None and process.is_running:
            process.interrupt()
        return protocol.Empty()

    def terminate(self, asked: protocol.TerminateProcess) -> protocol.ProcessTerminated:
        process = self._processes.get(asked.process_id)
        return protocol.ProcessTerminated(process is not None and process.terminate())

    def resize(self, asked: protocol.ResizeProcess) -> protocol.Empty:
        process = self._known(asked.process_id)
        if not process.is_terminal:
            raise invalid_request(f"process {asked.process_id} has no terminal")
        if not (0 < asked.rows <= MAX_TERMINAL_SIDE and 0 < asked.cols <= MAX_TERMINAL_SIDE):
            raise invalid_params(f"rows and cols must be between 1 and {MAX_TERMINAL_SIDE}")
        process.resize(asked.rows, asked.cols)
        return protocol.Empty()

    def close_stdin(self, asked: protocol.CloseStdin) -> protocol.ProcessWritten:
        process = self._processes.get(asked.process_id)
        if process is None:
            return protocol.ProcessWritten(protocol.WriteStatus.UNKNOWN_PROCESS)
        if process.stdin is None:
            return protocol.ProcessWritten(protocol.WriteStatus.STDIN_CLOSED)
        process.stdin.end()
        return protocol.ProcessWritten(protocol.WriteStatus.ACCEPTED)

    def _known(self, process_id: str) -> Process:
        process = self._processes.get(process_id)
        if process is None:
            raise invalid_request(f"unknown process id {process_id}")
        return process

    def attach(self, send: SendMessage, *, is_resumed: bool) -> None:
        """A client connected. If it has returned, it first gets a moment to read what it missed."""
        self._audience.attach(send)
        if not is_resumed:
            return
        self._audience_changed()
        if self._resuming is not None:
            self._resuming.cancel()  # it was set for an earlier client
        self._resuming = self._loop.call_later(HELD, self._all_live)

    def detach(self) -> None:
        self._audience.detach()
        self._audience_changed()

    def set_full(self, *, is_full: bool) -> None:
        self._audience.set_full(is_full=is_full)
        self._audience_changed()

    def _audience_changed(self) -> None:
        for process in self._processes.values():
            process.audience_changed()

    def _all_live(self) -> None:
        for process in list(self._processes.values()):
            process.go_live()

    async def aclose(self, patience: float) -> None:
        """Kill all processes, and wait up to `patience` seconds for their end."""
        for process in list(self._processes.values()):
            process.terminate()
        if self._running:
            with suppress(TimeoutError):
                await asyncio.wait_for(self._all_closed.wait(), patience)
        for timer in (self._forgetting, self._resuming):
            if timer is not None:
                timer.cancel()

    def _spec_for(self, asked: protocol.StartProcess) -> ProcessSpec:
        try:
            cwd = path_from_uri(asked.cwd)
        except ForeignPath as exc:
            text = f"cwd URI `{asked.cwd}` is not valid on this exec-server host: {exc}"
            raise invalid_params(text) from None
        except BadPath as exc:
            raise invalid_params(str(exc)) from None
        if not asked.argv[0]:
            raise internal_error(f"missing program for {'PTY' if asked.tty else 'pipe'} spawn")
        env = child_environment(self._own_environment, asked.env_policy, asked.env)
        if asked.tty:
            env.setdefault("SHELL", login_entry().pw_shell)
        return ProcessSpec(asked.argv, cwd, env, asked.arg0, asked.tty, asked.pipe_stdin)

    def _read_now(self, process: Process, asked: protocol.ReadProcess) -> protocol.ProcessRead:
        result = process.log.read(asked.after_seq or 0, asked.max_bytes)
        call_once_answered(process.was_read, result.next_seq - 1)
        return result

    async def _read_later(self, process: Process, asked: protocol.ReadProcess) -> protocol.ProcessRead:
        await process.wait_for_news(asked.after_seq or 0, min((asked.wait_ms or 0) / 1000, MAX_WAIT))
        return self._read_now(process, asked)

    def _was_closed(self, process: Process, confined: ConfinedLaunch) -> None:
        confined.ended.close()
        self._running -= 1
        if not self._running:
            self._all_closed.set()
        self._closed.append((process, self._loop.time() + CLOSED_RETAINED))
        self._closed_bytes += process.log.kept_bytes
        while self._closed_bytes > CLOSED_BYTES or len(self._closed) > CLOSED_COUNT:
            self._forget_oldest()
        if self._forgetting is None:
            self._forgetting = self._loop.call_later(CLOSED_RETAINED, self._forget_old)

    def _forget_old(self) -> None:
        self._forgetting = None
        now = self._loop.time()
        while self._closed and self._closed[0][1] <= now:
            self._forget_oldest()
        if self._closed:
            self._forgetting = self._loop.call_later(self._closed[0][1] - now, self._forget_old)

    def _forget_oldest(self) -> None:
        process, _ = self._closed.popleft()
        self._closed_bytes -= process.log.kept_bytes
        # By identity: the id may have been reused.
        if self._processes.get(process.process_id) is process:
            del self._processes[process.process_id]
            self._writes.pop(process.process_id, None)


def _refuse_unsupported(asked: protocol.StartProcess) -> None:
    """Limits that we do not enforce must not be ignored silently."""
    if asked.enforce_managed_network or asked.managed_network is not None or asked.network_proxy is not None:
        raise invalid_params("managed network is not supported by this exec-server")
    if asked.shell_snapshot is not None:
        raise invalid_params("shell snapshots are not supported by this exec-server")


def _launched(confined: ConfinedLaunch) -> Child:
    try:
        child = launch(confined.spec)
    except (OSError, ValueError) as exc:
        confined.release()
        text = os_error_text(exc) if isinstance(exc, OSError) else "data provided contains a nul byte"
        raise internal_error(text) from None
    confined.started.close()
    return child


def _remember(seen: OrderedDict[str, None], write_id: str | None) -> None:
    if write_id is not None:
        seen[write_id] = None
    if len(seen) > WRITE_IDS:
        seen.popitem(last=False)


async def _wait_for_room(room: asyncio.Future[None]) -> protocol.ProcessWritten:
    await room
    return protocol.ProcessWritten(protocol.WriteStatus.ACCEPTED)
