"""A client of an exec-server: start processes and use files there, across lost connections.

    async with ExecServerClient("ws://127.0.0.1:4512") as client:
        process = await client.start(["make", "test"], StartOptions(cwd="/srv/project"))
        async for event in process.events(): ...

If the connection breaks before a start is answered, the process is ended on the server after reconnecting.
"""

from __future__ import annotations

import asyncio
import logging
import uuid
from collections.abc import Sequence
from typing import Final, TypeAlias

import msgspec

from codex_mcp.base.tasks import TaskSet
from codex_mcp.execclient.connection import Connection, Route, route_to
from codex_mcp.execclient.errors import ExecServerError, ProcessLost, RequestRefused, SessionLost
from codex_mcp.execclient.files import RemoteFiles, Watches, file_uri
from codex_mcp.execclient.http import RemoteHttp
from codex_mcp.execclient.link import Link, outcome_unknown
from codex_mcp.execclient.options import (
    DEFAULT_OPTIONS,
    DEFAULT_START,
    ExecServerClientConnectOptions,
    RemoteExecServerConnectArgs,
    StartOptions,
)
from codex_mcp.execclient.ordering import Event
from codex_mcp.execclient.process import Process
from codex_mcp.execclient.recovery import ConnectionState
from codex_mcp.rpc.errors import ConnectionLost
from codex_mcp.rpc.peer import PendingCall
from codex_mcp.wire.exec import protocol
from codex_mcp.wire.exec.files import MissingChanged
from codex_mcp.wire.exec.http import BodyDelta
from codex_mcp.wire.jsonrpc import Notification

logger = logging.getLogger(__name__)

CLOSING_SECONDS: Final = 2.0
"""To end running processes when the client is closed. After that, the server ends them itself, 30 s later."""

NotificationParams: TypeAlias = Event | MissingChanged | BodyDelta

NOTIFICATIONS: Final[dict[str, msgspec.json.Decoder[NotificationParams]]] = {
    "process/output": msgspec.json.Decoder(protocol.ProcessOutput),
    "process/exited": msgspec.json.Decoder(protocol.ProcessExited),
    "process/closed": msgspec.json.Decoder(protocol.ProcessClosed),
    "fs/missingChanged": msgspec.json.Decoder(MissingChanged),
    "http/request/bodyDelta": msgspec.json.Decoder(BodyDelta),
}


class ExecServerClient:
    """One session with one server. An async context manager: leaving it ends running processes."""

    def __init__(
        self,
        server: str | Route | RemoteExecServerConnectArgs,
        options: ExecServerClientConnectOptions = DEFAULT_OPTIONS,
    ) -> None:
        """`server` is a ws:// or wss:// URL, a `Route`, or arguments that have the address and the options."""
        if isinstance(server, RemoteExecServerConnectArgs):
            options, server = server.options, server.websocket_url
        self._link = Link(route_to(server, options) if isinstance(server, str) else server, options, self)
        self._watches = Watches(self._link)
        self.files = RemoteFiles(self._link, self._watches)
        self.http = RemoteHttp(self._link)
        self._processes: dict[str, Process] = {}
        self._starting: dict[str, PendingCall] = {}
        self._unwanted: set[str] = set()
        """Processes to end on the server: starts without an answer, and processes that can no longer be followed."""
        self._tasks = TaskSet()
        self._is_closing = False

    def __repr__(self) -> str:
        return f"<ExecServerClient {self._link!r}, {len(self._processes)} processes>"

    async def __aenter__(self) -> ExecServerClient:
        await self._link.open()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.aclose()

    @property
    def state(self) -> ConnectionState:
        return self._link.state

    @property
    def session_id(self) -> str:
        """For `resume_session_id` of another client, after `detach()`."""
        return self._link.session_id

    @property
    def environment(self) -> protocol.EnvironmentInfo:
        return self._link.environment

    @property
    def can_resize(self) -> bool:
        """Whether the server supports `Process.resize()` (Codex's own does not)."""
        return self._link.capabilities.process_resize

    @property
    def can_close_stdin(self) -> bool:
        """Whether the server supports `Process.close_stdin()` (Codex's own does not)."""
        return self._link.capabilities.process_close_stdin

    async def environment_info(self) -> protocol.EnvironmentInfo:
        return await self._link.call("environment/info", {}, protocol.EnvironmentInfo)

    async def environment_status(self) -> protocol.EnvironmentStatus:
        return await self._link.call("environment/status", {}, protocol.EnvironmentStatus)

    async def start(self, argv: Sequence[str], options: StartOptions = DEFAULT_START) -> Process:
        """Start a process. Raises RequestRefused, or OutcomeUnknown if the connection broke (the process is ended)."""
        connection = await self._link.current()
        process_id = options.process_id if options.process_id is not None else uuid.uuid4().hex
        if process_id in self._processes or process_id in self._unwanted:
            raise ExecServerError(f"cannot start process {process_id}: another process with this id has not ended")
        params = self._start_params(process_id, argv, options)
        pending = self._starting[process_id] = connection.start("process/start", params)
        # Before the answer: its first output may come before that.
        process = self._processes[process_id] = Process(process_id, self._link)
        try:
            await connection.answer("process/start", pending, protocol.ProcessStarted)
        except ConnectionLost as exc:
            raise outcome_unknown("process/start") from exc
        except RequestRefused:
            self._forget(process)
            raise
        except (asyncio.CancelledError, ExecServerError):
            self._give_up(process)
            raise
        finally:
            del self._starting[process_id]
        return process

    async def adopt(self, process_id: str) -> Process:
        """Follow a process of a resumed session from its first event. Raises ProcessLost if events are missing."""
        if process_id in self._processes:
            raise ExecServerError(f"cannot adopt process {process_id}: this client already has it")
        connection = await self._link.current()
        process = self._processes[process_id] = Process(process_id, self._link)
        try:
            await process.catch_up(connection)
        except BaseException as exc:
            self._forget(process)
            if isinstance(exc, ConnectionLost):
                raise outcome_unknown("process/read") from exc
            raise
        self._forget_if_over(process)
        return process

    async def detach(self) -> str:
        """Disconnect without ending the processes; the server keeps them for 30 s. Returns the session id to resume."""
        left = list(self._processes.values())
        self._processes.clear()
        await self.aclose()
        for process in left:
            process.fail(SessionLost(f"cannot follow process {process.id}: this client has detached from it"))
        return self.session_id

    async def aclose(self) -> None:
        """End running processes, disconnect, and fail everything that waits. May be called twice."""
        if not self._is_closing and self._link.state is ConnectionState.CONNECTED:
            await self._end_processes()
        self._is_closing = True
        await self._tasks.aclose()
        await self._link.aclose()

    def notification_received(self, message: Notification) -> None:
        decoder = NOTIFICATIONS.get(message.method)
        if decoder is None:
            logger.debug("ignored: %s", message.method)
            return
        try:
            params = decoder.decode(message.params)
        except msgspec.MsgspecError as exc:
            logger.warning("cannot read the notification %s: %s", message.method, exc)
            return
        if isinstance(params, MissingChanged):
            self._watches.missing_changed(params.watch_id)
        elif isinstance(params, BodyDelta):
            self.http.delta_received(params)
        elif (process := self._processes.get(params.process_id)) is not None:
            try:
                process.event_received(params)
            except ProcessLost as exc:
                self._lose(process, exc)
            self._forget_if_over(process)

    def connection_lost(self) -> None:
        for process_id, pending in self._starting.items():
            if not pending.is_answered:
                self._unwanted.add(process_id)
                self._processes.pop(process_id, None)
        self._watches.connection_lost()
        self.http.connection_lost()

    async def connection_resumed(self, connection: Connection) -> None:
        """End unwanted processes and catch up with the others, concurrently."""
        try:
            async with asyncio.TaskGroup() as group:
                for process_id in self._unwanted:
                    group.create_task(self._end(connection, process_id))
                for process in self._processes.values():
                    group.create_task(self._catch_up(connection, process))
        except ExceptionGroup as group_error:
            # Not `except*`: what it raises is wrapped in a group in some releases of Python and not in others.
            if group_error.split(ConnectionLost)[1] is not None:
                raise
            raise ConnectionLost("it broke again while catching up") from group_error

    def session_lost(self, error: SessionLost) -> None:
        for process in self._processes.values():
            process.fail(error)
        self._processes.clear()
        self._watches.connection_lost()
        self.http.connection_lost()

    def _start_params(self, process_id: str, argv: Sequence[str], options: StartOptions) -> protocol.StartProcess:
        cwd = options.cwd or self.environment.cwd
        if cwd is None:
            raise ExecServerError("cannot start a process: the server does not announce its working folder; give a cwd")
        return protocol.StartProcess(
            process_id,
            list(argv),
            file_uri(cwd),
            dict(options.env or {}),
            options.tty,
            options.pipe_stdin,
            options.arg0,
            options.env_policy,
            options.sandbox,
        )

    async def _catch_up(self, connection: Connection, process: Process) -> None:
        try:
            await process.catch_up(connection)
        except ExecServerError as exc:
            self._lose(process, exc if isinstance(exc, ProcessLost) else ProcessLost(str(exc)))
        self._forget_if_over(process)

    def _lose(self, process: Process, why: ProcessLost) -> None:
        logger.warning("%s", why)
        process.fail(why)
        self._give_up(process)

    def _give_up(self, process: Process) -> None:
        self._forget(process)
        if not self._is_closing:
            self._unwanted.add(process.id)
            self._tasks.spawn(self._end_unwanted(process.id), name=f"end process {process.id}")

    async def _end_unwanted(self, process_id: str) -> None:
        try:
            connection = await self._link.current()
            if process_id in self._unwanted:
                await self._end(connection, process_id)
        except (SessionLost, ConnectionLost) as exc:
            logger.info("cannot end process %s: %s", process_id, exc)

    async def _end(self, connection: Connection, process_id: str) -> None:
        try:
            await connection.call(
                "process/terminate", protocol.TerminateProcess(process_id), protocol.ProcessTerminated
            )
        except ExecServerError as exc:
            logger.warning("cannot end process %s: %s", process_id, exc)
        self._unwanted.discard(process_id)

    async def _end_processes(self) -> None:
        running = [process_id for process_id, process in self._processes.items() if not process.is_over]
        self._unwanted.update(running)
        try:
            async with asyncio.timeout(CLOSING_SECONDS), asyncio.TaskGroup() as group:
                for process_id in list(self._unwanted):
                    group.create_task(self._end_unwanted(process_id))
        except TimeoutError:
            logger.warning("the server did not end %d processes in time; it will do so in 30 s", len(running))

    def _forget_if_over(self, process: Process) -> None:
        if process.is_over:
            self._forget(process)

    def _forget(self, process: Process) -> None:
        # By identity: a newer process may have the same id.
        if self._processes.get(process.id) is process:
            del self._processes[process.id]
