"""Runs the exec-server on a WebSocket address or on stdin and stdout, until it is told to stop."""

from __future__ import annotations

import asyncio
import fcntl
import ipaddress
import os
import sys
from collections.abc import Awaitable, Callable, Coroutine, Mapping
from contextlib import ExitStack, suppress
from typing import IO, Any, Final
from urllib.parse import urlsplit

from msgspec import Struct

from codex_mcp import __version__
from codex_mcp.access.loopback import is_loopback
from codex_mcp.access.peers import Peers
from codex_mcp.access.verdicts import SERVER_NAME
from codex_mcp.base.errors import Explained, Refused
from codex_mcp.base.file_uris import uri_from_path
from codex_mcp.base.processes.orphans import adopt_orphans, call_ourselves, kill_orphans, reap_orphans
from codex_mcp.base.signals import STOP_SIGNALS, signals_handled
from codex_mcp.base.tasks import TaskSet
from codex_mcp.execserver.connection import ClientTransport, Connection, StreamServer
from codex_mcp.execserver.launch import login_entry, own_children
from codex_mcp.execserver.sandbox.confinement import Confinement
from codex_mcp.execserver.server import Server
from codex_mcp.rpc.channel import Frame, UnreadableFrame
from codex_mcp.transports.stdio import StdioChannel, open_stdio
from codex_mcp.transports.websockets.accepted import Endpoint, listen
from codex_mcp.wire.exec.protocol import Capabilities, EnvironmentInfo, Shell

MAX_LINE_BYTES: Final = 64 * 1024 * 1024
"""The longest message on stdin."""

STDIO_HIGH: Final = 1024 * 1024
STDIO_LOW: Final = 256 * 1024
"""Unsent bytes on stdout above which processes are slowed down, and below which they continue."""

STDIN: Final = 0
STDIN_BYTES: Final = 65536
"""Read at once, and dropped: only the end matters."""

REAP_SECONDS: Final = 5.0
"""How long an orphan that has ended may stay in the process list."""


AuthCheck = Callable[[str | None], str | None]
"""Given an Authorization header: why it is refused, or None."""


class Address(Struct, frozen=True):
    """Where to listen; without a host, on stdin and stdout."""

    host: str | None
    port: int = 0

    @property
    def is_local(self) -> bool:
        """Whether only this machine can reach it."""
        return self.host is None or is_loopback(self.host)


class ExecServerListenUrlParseError(Refused):
    """An address on which no exec-server can listen."""


def parse_listen(url: str) -> Address:
    """Raises ExecServerListenUrlParseError."""
    if url in ("stdio", "stdio://"):
        return Address(None)
    with suppress(ValueError):
        parts = urlsplit(url)
        if parts.scheme == "ws" and parts.port is not None and parts.path in ("", "/") and not parts.query:
            return Address(str(ipaddress.ip_address(parts.hostname or "")), parts.port)
    raise ExecServerListenUrlParseError(
        f"cannot listen on {url!r}: the address must be ws://IP:PORT (no host name) or stdio"
    )


RunRemote = Callable[[StreamServer], Coroutine[Any, Any, None]]
"""Serves harnesses through a rendezvous until it is cancelled."""


class ServerConfig(Struct, frozen=True):
    address: Address
    environment: Mapping[str, str]
    cwd: str
    concurrent: int
    refusal: AuthCheck
    confinement: Confinement
    lifeline: int | None = None
    """A pipe to the guard; the server stops when the guard is gone."""
    remote: RunRemote | None = None
    """Given: harnesses come through a rendezvous, and nothing listens."""
    ends_with_stdin: bool = False
    takes_signals: bool = True
    """SIGTERM, SIGINT and SIGHUP stop the server; else the program that embeds it handles them."""


def environment_info(config: ServerConfig) -> EnvironmentInfo:
    """What clients are told about this machine."""
    login = login_entry()
    shell = config.environment.get("SHELL") or login.pw_shell or "/bin/sh"
    temporary = config.environment.get("TMPDIR") or "/" + "tmp"
    return EnvironmentInfo(
        shell=Shell(os.path.basename(shell), shell),
        executor_version=__version__,
        cwd=uri_from_path(config.cwd),
        user_home_dir=uri_from_path(config.environment.get("HOME") or login.pw_dir),
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


async def serve(config: ServerConfig, stdin: IO[bytes], stdout: IO[bytes]) -> None:
    """Serve until a signal, the end of the lifeline, or (on stdio) the end of stdin."""
    keep_descriptors_private()
    os.chdir("/")
    server = Server(environment_info(config), config.environment, config.confinement, config.concurrent)
    loop = asyncio.get_running_loop()
    stop = asyncio.Event()
    with ExitStack() as undo:
        if config.takes_signals:
            undo.enter_context(signals_handled(dict.fromkeys(STOP_SIGNALS, stop.set)))
        if config.lifeline is not None:
            # We inherit orphans, and the guard inherits them from us: if one of the two is killed, the other ends them.
            adopt_orphans()
            call_ourselves(SERVER_NAME)
            undo.callback(kill_orphans, ())
            loop.add_reader(config.lifeline, _lifeline_cut, config.lifeline, stop)
            undo.callback(loop.remove_reader, config.lifeline)
            undo.callback(_OrphanReaper(loop).close)
        if config.ends_with_stdin:
            stop_when_stdin_ends(stop)
        try:
            if config.remote is not None:
                await until_stopped(config.remote(server), stop)
            elif config.address.host is None:
                await _serve_stdio(server, stdin, stdout, stop)
            else:
                await _serve_websocket(server, config, stdout, stop)
        finally:
            await server.aclose()


def _lifeline_cut(lifeline: int, stop: asyncio.Event) -> None:
    asyncio.get_running_loop().remove_reader(lifeline)  # it stays readable
    stop.set()


class _OrphanReaper:
    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop
        self._timer = loop.call_later(REAP_SECONDS, self._reap)

    def _reap(self) -> None:
        if _has_orphans():
            reap_orphans(own_children)
        self._timer = self._loop.call_later(REAP_SECONDS, self._reap)

    def close(self) -> None:
        self._timer.cancel()


def _has_orphans() -> bool:
    """Whether there may be orphans. The kernel's list of our children is fast, but not every kernel provides it."""
    try:
        with open(f"/proc/self/task/{os.getpid()}/children") as listed:
            return not own_children.issuperset(map(int, listed.read().split()))
    except OSError:
        return True


async def _serve_websocket(server: Server, config: ServerConfig, stdout: IO[bytes], stop: asyncio.Event) -> None:
    assert config.address.host is not None
    peers = Peers(only_confined=True)
    endpoint = Endpoint(server.accept, config.refusal, server.is_full, peers=peers)
    try:
        listener = await listen(config.address.host, config.address.port, endpoint)
    except OSError as exc:
        raise Refused(f"cannot listen on {config.address.host}:{config.address.port}: {exc.strerror}") from exc
    host, port = listener.sockets[0].getsockname()[:2]
    try:
        stdout.write(f"ws://{f'[{host}]' if ':' in host else host}:{port}\n".encode())
        stdout.flush()
    except OSError as exc:
        raise Explained(f"cannot write the address to stdout: {exc.strerror}; check where stdout goes") from exc
    await stop.wait()
    listener.close()
    peers.close()


async def until_stopped(work: Coroutine[Any, Any, None], stop: asyncio.Event) -> None:
    """Run this until `stop` is set. Raises what it raises."""
    tasks = TaskSet()

    async def until_it_ends() -> None:
        try:
            await work
        finally:
            stop.set()

    running = tasks.spawn(until_it_ends(), name="remote executor")
    await stop.wait()
    await tasks.aclose()
    if not running.cancelled() and (error := running.exception()) is not None:
        raise error


def stop_when_stdin_ends(stop: asyncio.Event) -> None:
    """Raises Refused if stdin is not a pipe or a socket, which have an end that can be noticed."""
    loop = asyncio.get_running_loop()

    def readable() -> None:
        if not os.read(STDIN, STDIN_BYTES):
            loop.remove_reader(STDIN)
            stop.set()

    try:
        loop.add_reader(STDIN, readable)
    except OSError as exc:
        raise Refused(f"cannot use --exit-on-stdin-close: stdin is not a pipe ({exc.strerror})") from exc


async def _serve_stdio(server: Server, stdin: IO[bytes], stdout: IO[bytes], stop: asyncio.Event) -> None:
    channel = await open_stdio(stdin, stdout, MAX_LINE_BYTES)
    transport = StdioTransport(channel, server.accept, stop)
    tasks = TaskSet()
    tasks.spawn(channel.read(transport), name="stdin")
    await stop.wait()
    await tasks.aclose()
    await transport.aclose()
    await transport.connection.aclose()


class StdioTransport:
    peer = "stdio"

    def __init__(
        self, channel: StdioChannel, accept: Callable[[ClientTransport], Connection], stop: asyncio.Event
    ) -> None:
        self._stop = stop
        self._may_read = asyncio.Event()
        self._may_read.set()
        self._is_dropped = False
        self._channel = channel
        self._tasks = TaskSet()
        self._queued = 0
        self._is_full = False
        self.connection = accept(self)

    def frame_received(self, frame: Frame) -> Awaitable[object] | None:
        if self._is_dropped:
            return None
        if isinstance(frame, UnreadableFrame):
            self.connection.unreadable_received(frame.reason)
        elif isinstance(frame, bytes):
            self.connection.frame_received(frame)
        return None if self._may_read.is_set() else self._may_read.wait()

    def connection_lost(self) -> None:
        self._stop.set()

    def send(self, *parts: bytes) -> None:
        if self._is_dropped:
            return
        message = b"".join(parts)
        self._channel.send(message)
        self._queued += len(message)
        if self._queued > STDIO_HIGH and not self._is_full:
            self._is_full = True
            self.connection.pause_writing()
            self._tasks.spawn(self._drain(), name="stdout")

    async def _drain(self) -> None:
        await self._channel.drain(STDIO_LOW)
        self._queued, self._is_full = 0, False
        self.connection.resume_writing()

    def pause_reading(self) -> None:
        self._may_read.clear()

    def resume_reading(self) -> None:
        self._may_read.set()

    def probe(self) -> None:
        """Nothing to do: no other client can connect."""

    def drop(self) -> None:
        """Stop the server: it has no other client."""
        self._is_dropped = True
        self._may_read.set()
        self._stop.set()

    async def aclose(self) -> None:
        await self._tasks.aclose()
        await self._channel.aclose()


def keep_descriptors_private() -> None:
    """Keep descriptors that our parent left open from our children."""
    if sys.platform != "linux":
        return
    for name in os.listdir("/proc/self/fd"):
        if int(name) > 2:
            with suppress(OSError):
                flags = fcntl.fcntl(int(name), fcntl.F_GETFD)
                fcntl.fcntl(int(name), fcntl.F_SETFD, flags | fcntl.FD_CLOEXEC)
