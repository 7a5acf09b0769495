"""A child process whose stdin and stdout carry one message per line."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
from collections.abc import Callable, Coroutine, Mapping, Sequence
from typing import Any

from msgspec import Struct

from codex_mcp.base.tasks import spawn
from codex_mcp.rpc.channel import FrameKind, Receiver
from codex_mcp.transports.framing import FrameReader
from codex_mcp.transports.stdio import READ_BYTES, read_frames
from codex_mcp.wire.jsonrpc import Id

STDERR_TAIL_BYTES = 64 * 1024
"""Enough of stderr for an error report: a backtrace of Codex has some 20 KiB, and its reason comes first."""

STDERR_GRACE = 0.5
"""Seconds to read the rest of stderr after the child has ended."""


OUTPUT_GRACE = 1.0
"""Seconds to read the rest of its output after the child has ended: what it has started may hold its stdout open."""


class Exit(Struct, frozen=True):
    code: int
    stderr: str

    def __str__(self) -> str:
        if self.code >= 0:
            return f"exit code {self.code}"
        with contextlib.suppress(ValueError):
            return f"signal {signal.Signals(-self.code).name}"
        return f"signal {-self.code}"


class _Protocol(asyncio.subprocess.SubprocessStreamProtocol):
    """Knows when the process has ended, even if its pipes are still open or unread."""

    def __init__(self) -> None:
        loop = asyncio.get_running_loop()
        super().__init__(limit=READ_BYTES, loop=loop)
        self.exited = loop.create_future()

    def process_exited(self) -> None:
        self.exited.set_result(None)
        super().process_exited()


class Child:
    def __init__(self, transport: asyncio.SubprocessTransport, protocol: _Protocol, max_message_bytes: int) -> None:
        assert protocol.stdin is not None
        assert protocol.stdout is not None
        self.pid = transport.get_pid()
        self._transport = transport
        self._exited = protocol.exited
        self._exited.add_done_callback(lambda exited: exited.get_loop().call_later(OUTPUT_GRACE, self._end_output))
        self._stdin = protocol.stdin
        self._stdout = protocol.stdout
        self._stderr = protocol.stderr
        self._frames = FrameReader(max_message_bytes)
        self._stderr_tail = b""
        self._stderr_task = spawn(self._keep_stderr(), name=f"stderr of {self.pid}")

    @property
    def stderr(self) -> str:
        return self._stderr_tail.decode(errors="replace")

    def read(self, receiver: Receiver) -> Coroutine[Any, Any, None]:
        return read_frames(self._stdout, self._frames, receiver)

    def send(self, frame: bytes, about: Id | None = None, kind: FrameKind = FrameKind.NOTIFICATION) -> None:
        if not self._stdin.is_closing():
            self._stdin.write(frame + b"\n")

    async def drain(self, below: int) -> None:
        with contextlib.suppress(ConnectionError):
            await self._stdin.drain()

    async def aclose(self) -> None:
        """Close its stdin, which asks it to end."""
        self._stdin.close()

    def kill(self) -> None:
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(self.pid, signal.SIGKILL)

    async def wait(self) -> Exit:
        """Wait until it has ended. Its unread output is dropped."""
        # Not process.wait(): that also waits for the pipes, and a reader that is held back never reaches their end.
        await asyncio.wait([self._exited])
        code = self._transport.get_returncode()
        assert code is not None
        # A grandchild may hold stderr open for much longer.
        await asyncio.wait([self._stderr_task], timeout=STDERR_GRACE)
        self._stderr_task.cancel()
        self._transport.close()
        return Exit(code, self.stderr)

    def _end_output(self) -> None:
        pipe = self._transport.get_pipe_transport(1)
        if pipe is not None:
            pipe.close()

    async def _keep_stderr(self) -> None:
        assert self._stderr is not None
        while data := await self._stderr.read(READ_BYTES):
            self._stderr_tail = (self._stderr_tail + data)[-STDERR_TAIL_BYTES:]


async def start_child(
    argv: Sequence[str],
    environment: Mapping[str, str],
    max_message_bytes: int,
    *,
    cwd: str | None = None,
    before_exec: Callable[[], None] | None = None,
) -> Child:
    """Start it in its own process group, so that a Ctrl-C at our terminal does not reach it.

    `before_exec` runs in the child before the program starts; very little is safe there.
    """
    transport, protocol = await asyncio.get_running_loop().subprocess_exec(
        _Protocol,
        *argv,
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
        env=dict(environment),
        cwd=cwd,
        start_new_session=True,
        preexec_fn=before_exec,
    )
    return Child(transport, protocol, max_message_bytes)
