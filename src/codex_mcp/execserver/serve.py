"""The front door: runs the exec-server on a WebSocket address or on stdin and stdout, until it is told to stop."""

from __future__ import annotations

import asyncio
import fcntl
import ipaddress
import os
import signal
import sys
from collections.abc import Callable, Mapping
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from typing import IO, Final
from urllib.parse import urlsplit

from codex_mcp import __version__
from codex_mcp.base.errors import Explained, Refused
from codex_mcp.base.file_uris import uri_from_path
from codex_mcp.base.processes.orphans import adopt_orphans, kill_orphans, reap_orphans
from codex_mcp.base.tasks import TaskSet
from codex_mcp.execserver.connection import Connection
from codex_mcp.execserver.launch import login_entry, own_children
from codex_mcp.execserver.sandbox.confinement import Confinement
from codex_mcp.execserver.server import Server
from codex_mcp.rpc.channel import UnreadableFrame
from codex_mcp.transports.stdio import StdioChannel, open_stdio
from codex_mcp.transports.websocket import Endpoint, listen
from codex_mcp.wire.exec.protocol import Capabilities, EnvironmentInfo, Shell

MAX_LINE_BYTES: Final = 64 * 1024 * 1024
"""The longest message on stdin."""

STDIO_HIGH: Final = 1024 * 1024
STDIO_LOW: Final = 256 * 1024
"""Unsent bytes on stdout at which processes are slowed down, and at which they may go on."""

BURY_SECONDS: Final = 5.0
"""How long an orphan that has ended may stay in the list of processes."""

STOP_SIGNALS: Final = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)
"""What asks a program to end: its owner, a person, a terminal that is closed. `nohup` has us ignore the last."""

Refusal = Callable[[str | None], str | None]


@dataclass(frozen=True, slots=True)
class Address:
    """Where to listen; no host means stdin and stdout."""

    host: str | None
    port: int = 0

    @property
    def is_local(self) -> bool:
        """Only this machine can reach it."""
        return self.host is None or ipaddress.ip_address(self.host).is_loopback


def parse_listen(url: str) -> Address:
    """Read `--listen`. Raises Refused."""
    if url in ("stdio", "stdio://"):
        return Address(None)
    with suppress(ValueError):
        parts = urlsplit(url)
        if parts.scheme == "ws" and parts.port is not None and parts.path in ("", "/") and not parts.query:
            return Address(str(ipaddress.ip_address(parts.hostname or "")), parts.port)
    raise Refused(f"cannot listen on {url!r}: the address must be ws://IP:PORT (no host name) or stdio")


@dataclass(frozen=True, slots=True)
class Plan:
    """What the server was told."""

    address: Address
    environment: Mapping[str, str]
    cwd: str
    concurrent: int
    refusal: Refusal
    confinement: Confinement
    lifeline: int | None = None
    """A descriptor at whose end the server stops: whoever holds the other end is gone."""
    takes_signals: bool = True
    """SIGTERM, SIGINT and SIGHUP stop it; else they belong to the program that it is part of."""


def environment_info(plan: Plan) -> EnvironmentInfo:
    """What clients are told about this machine."""
    login = login_entry()
    shell = plan.environment.get("SHELL") or login.pw_shell or "/bin/sh"
    temporary = plan.environment.get("TMPDIR") or "/" + "tmp"
    return EnvironmentInfo(
        shell=Shell(os.path.basename(shell), shell),
        executor_version=__version__,
        cwd=uri_from_path(plan.cwd),
        user_home_dir=uri_from_path(plan.environment.get("HOME") or login.pw_dir),
        platform_os="linux" if sys.platform == "linux" else "macos",
        temporary_directories=[uri_from_path(temporary)] if os.path.isabs(temporary) else [],
        temp_dir=uri_from_path(temporary) if os.path.isabs(temporary) else None,
        capabilities=Capabilities(
            fs_watch_missing=True,
            sandboxed_file_streaming=True,
            file_write_streaming=True,
            process_resize=True,
            process_close_stdin=True,
        ),
    )


async def serve(plan: Plan, stdin: IO[bytes], stdout: IO[bytes]) -> None:
    """Serve until a signal, the end of the lifeline, or (on stdio) of stdin."""
    keep_descriptors_private()
    os.chdir("/")
    server = Server(environment_info(plan), plan.environment, plan.confinement, plan.concurrent)
    loop = asyncio.get_running_loop()
    stop = asyncio.Event()
    with ExitStack() as undo:
        numbers = STOP_SIGNALS if plan.takes_signals else ()
        for number in (number for number in numbers if signal.getsignal(number) is not signal.SIG_IGN):
            loop.add_signal_handler(number, stop.set)
            undo.callback(loop.remove_signal_handler, number)
        if plan.lifeline is not None:
            # We inherit orphans ourselves, and the guard inherits them from us: whichever of the two is killed, the
            # other one finds and ends them.
            adopt_orphans()
            undo.callback(kill_orphans, ())
            loop.add_reader(plan.lifeline, _lifeline_cut, plan.lifeline, stop)
            undo.callback(loop.remove_reader, plan.lifeline)
            undo.callback(_Burying(loop).close)
        try:
            if plan.address.host is None:
                await _serve_stdio(server, stdin, stdout, stop)
            else:
                await _serve_websocket(server, plan, stdout, stop)
        finally:
            await server.aclose()


def _lifeline_cut(lifeline: int, stop: asyncio.Event) -> None:
    """Whoever guarded us is gone."""
    asyncio.get_running_loop().remove_reader(lifeline)  # its end can be read any number of times
    stop.set()


class _Burying:
    """Buries orphans that have ended, from time to time."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop
        self._timer = loop.call_later(BURY_SECONDS, self._bury)

    def _bury(self) -> None:
        if _has_orphans():
            reap_orphans(own_children)
        self._timer = self._loop.call_later(BURY_SECONDS, self._bury)

    def close(self) -> None:
        """No more."""
        self._timer.cancel()


def _has_orphans() -> bool:
    """May there be some? The kernel's own list of our children is quick, but not every kernel keeps one."""
    try:
        with open(f"/proc/self/task/{os.getpid()}/children") as listed:
            return not own_children.issuperset(map(int, listed.read().split()))
    except OSError:
        return True


async def _serve_websocket(server: Server, plan: Plan, stdout: IO[bytes], stop: asyncio.Event) -> None:
    assert plan.address.host is not None
    endpoint = Endpoint(server.accept, plan.refusal, server.is_full)
    try:
        listener = await listen(plan.address.host, plan.address.port, endpoint)
    except OSError as exc:
        raise Refused(f"cannot listen on {plan.address.host}:{plan.address.port}: {exc.strerror}") from exc
    host, port = listener.sockets[0].getsockname()[:2]
    try:
        stdout.write(f"ws://{f'[{host}]' if ':' in host else host}:{port}\n".encode())
        stdout.flush()
    except OSError as exc:
        raise Explained(f"cannot write the address to stdout: {exc.strerror}; look at where it goes") from exc
    await stop.wait()
    listener.close()


async def _serve_stdio(server: Server, stdin: IO[bytes], stdout: IO[bytes], stop: asyncio.Event) -> None:
    channel = await open_stdio(stdin, stdout, MAX_LINE_BYTES)
    outlet = StdioOutlet(channel)
    connection = server.accept(outlet)
    outlet.listener = connection

    async def read() -> None:
        while frames := await channel.receive():
            for frame in frames:
                if isinstance(frame, UnreadableFrame):
                    connection.unreadable_received(frame.reason)
                elif isinstance(frame, bytes):
                    connection.frame_received(frame)
            await outlet.may_read.wait()
            if outlet.is_dropped:
                break
        stop.set()

    tasks = TaskSet()
    tasks.spawn(read(), name="stdin")
    await stop.wait()
    await tasks.aclose()
    await outlet.aclose()
    await connection.aclose()


class StdioOutlet:
    """The way back to a client at our stdout."""

    peer = "stdio"

    def __init__(self, channel: StdioChannel) -> None:
        self.listener: Connection | None = None
        self.may_read = asyncio.Event()
        self.may_read.set()
        self.is_dropped = False
        self._channel = channel
        self._tasks = TaskSet()
        self._queued = 0
        self._is_full = False

    def send(self, *parts: bytes) -> None:
        """Queue one message."""
        if self.is_dropped:
            return
        message = b"".join(parts)
        self._channel.send(message)
        self._queued += len(message)
        if self._queued > STDIO_HIGH and not self._is_full:
            self._is_full = True
            if self.listener is not None:
                self.listener.outlet_full()
            self._tasks.spawn(self._wait(), name="stdout")

    async def _wait(self) -> None:
        await self._channel.drain(STDIO_LOW)
        self._queued, self._is_full = 0, False
        if self.listener is not None:
            self.listener.outlet_ready()

    def pause_reading(self) -> None:
        """Take nothing from the client for now."""
        self.may_read.clear()

    def resume_reading(self) -> None:
        """Go on."""
        self.may_read.set()

    def probe(self) -> None:
        """Nobody else can come; and a pipe has no other end than its own."""

    def drop(self) -> None:
        """There is only this one client: without it, we stop."""
        self.is_dropped = True
        self.may_read.set()

    async def aclose(self) -> None:
        """Write what is queued."""
        await self._tasks.aclose()
        await self._channel.aclose()


def keep_descriptors_private() -> None:
    """What our own parent left open is not for our children."""
    for name in os.listdir("/proc/self/fd") if sys.platform == "linux" else ():
        if int(name) > 2:
            with suppress(OSError):
                flags = fcntl.fcntl(int(name), fcntl.F_GETFD)
                fcntl.fcntl(int(name), fcntl.F_SETFD, flags | fcntl.FD_CLOEXEC)
