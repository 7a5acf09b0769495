"""A client's session with a server, across reconnects.

Calls use the current connection, wait while there is none, and raise SessionLost once the session is lost. A request
that was in flight when a connection broke is not repeated, unless the caller declares that safe.
"""

from __future__ import annotations

import asyncio
import logging
from typing import Final, Protocol, TypeVar

from codex_mcp.base.tasks import TaskSet
from codex_mcp.execclient.connection import Connection, Route
from codex_mcp.execclient.errors import CannotConnect, ExecServerError, OutcomeUnknown, RequestRefused, SessionLost
from codex_mcp.execclient.flow import Flow
from codex_mcp.execclient.options import ExecServerClientConnectOptions
from codex_mcp.execclient.recovery import RETRY_SECONDS, ConnectionState, Recovery, ResumeFailure
from codex_mcp.rpc.errors import ConnectionLost
from codex_mcp.wire.exec.protocol import ALREADY_ATTACHED, Capabilities, EnvironmentInfo, Initialized
from codex_mcp.wire.jsonrpc import Notification

logger = logging.getLogger(__name__)

Answer = TypeVar("Answer")

TEMPORARY: Final = (OSError, TimeoutError, ConnectionLost)
"""Errors after which another attempt may succeed. (A refused handshake or an unknown session is final.)"""

DETACH_SECONDS: Final = 5.0
"""How long a server may take to notice that a client has left its session. It takes milliseconds."""

NEVER_CURRENT: Final = 0
"""The generation of a connection whose handshake failed."""


class LinkListener(Protocol):
    """The owner of a link."""

    def notification_received(self, message: Notification) -> None: ...

    def connection_lost(self) -> None:
        """The current connection broke. The outcome of requests in flight is unknown."""

    async def connection_resumed(self, connection: Connection) -> None:
        """The session is attached again; catch up before other calls use the connection."""

    def session_lost(self, error: SessionLost) -> None:
        """There will be no further connection."""


class Link:
    def __init__(self, route: Route, options: ExecServerClientConnectOptions, listener: LinkListener) -> None:
        self.flow = Flow()
        self.environment: EnvironmentInfo
        self.session_id = ""
        self._dial = route.dial
        self._options = options
        self._listener = listener
        self._recovery = Recovery(can_resume=route.can_resume, seconds=options.recovery_seconds)
        self._connection: Connection
        self._settled = asyncio.Event()
        self._settled.set()
        self._is_released = False
        self._tasks = TaskSet()

    def __repr__(self) -> str:
        return f"<Link {self.session_id}: {self._recovery!r}>"

    @property
    def state(self) -> ConnectionState:
        return self._recovery.state

    @property
    def capabilities(self) -> Capabilities:
        announced = self.environment.capabilities
        return announced if isinstance(announced, Capabilities) else Capabilities()

    async def open(self) -> None:
        """Connect for the first time. Raises CannotConnect."""
        try:
            connection, answer = await self._connect_first()
            self.environment = answer.environment_info or await connection.environment()
        except (*TEMPORARY, RequestRefused) as exc:
            self._recovery.close()
            await self._tasks.aclose()
            raise CannotConnect(f"cannot connect to the exec-server: {_reason(exc)}") from exc
        self.session_id = answer.session_id
        self._connection = connection
        logger.info("session %s: connected", self.session_id)

    async def current(self) -> Connection:
        """Wait for a connection with room for a request. It is alive until the next `await`. Raises SessionLost."""
        while True:
            while self._recovery.state is ConnectionState.RECOVERING:
                await self._settled.wait()
            if self._recovery.state is ConnectionState.FAILED:
                raise SessionLost(self._recovery.failure)
            connection = self._connection
            await connection.drain()
            if connection is self._connection and connection.is_alive:
                return connection

    async def call(self, method: str, params: object, answer_type: type[Answer]) -> Answer:
        """Call once. Raises RequestRefused, SessionLost, or OutcomeUnknown if the connection broke."""
        connection = await self.current()
        try:
            return await connection.call(method, params, answer_type)
        except ConnectionLost as exc:
            raise outcome_unknown(method) from exc

    async def call_until_answered(self, method: str, params: object, answer_type: type[Answer]) -> Answer:
        """Repeat the call after each lost connection: for idempotent requests."""
        while True:
            connection = await self.current()
            try:
                return await connection.call(method, params, answer_type)
            except ConnectionLost:
                logger.debug("session %s: repeating %s", self.session_id, method)

    async def aclose(self) -> None:
        """Close the connection and fail everything that waits. May be called twice."""
        self._recovery.close()
        if not self._is_released:
            self._release()
        await self._tasks.aclose()
        if hasattr(self, "_connection"):
            await self._connection.aclose()

    async def _connect_first(self) -> tuple[Connection, Initialized]:
        """Connect. A session may still be attached: the server notices a moment later that its client has left."""
        clock = asyncio.get_running_loop().time
        deadline = clock() + DETACH_SECONDS
        while True:
            try:
                return await self._connect(1, self._options.resume_session_id)
            except RequestRefused as exc:
                if exc.code != ALREADY_ATTACHED or clock() >= deadline:
                    raise
            await asyncio.sleep(RETRY_SECONDS)

    async def _connect(self, generation: int, session_id: str | None) -> tuple[Connection, Initialized]:
        async with asyncio.timeout(self._options.connect_timeout):
            channel = await self._dial()
        connection = Connection(generation, channel, self._listener.notification_received, self.flow)
        # Before the handshake: output of a busy process may arrive before the server's answer.
        self._tasks.spawn(self._listen(connection), name=f"exec-server connection {generation}")
        try:
            async with asyncio.timeout(self._options.initialize_timeout):
                return connection, await connection.initialize(self._options.client_name, session_id)
        except BaseException:
            connection.generation = NEVER_CURRENT  # the caller is told; there is nothing to recover
            await connection.aclose()
            raise

    async def _listen(self, connection: Connection) -> None:
        reason = await connection.listen()
        now = asyncio.get_running_loop().time()
        if not self._recovery.lost(connection.generation, now, reason):
            return
        level = logging.WARNING if self.session_id else logging.INFO  # before there is one, `open` tells it
        logger.log(level, "session %s: connection %d lost: %s", self.session_id, connection.generation, reason)
        self._listener.connection_lost()
        if self._recovery.state is ConnectionState.FAILED:
            self._release()
        else:
            self._settled.clear()
            self._tasks.spawn(self._recover(), name="exec-server recovery")
        await connection.aclose()

    async def _recover(self) -> None:
        clock = asyncio.get_running_loop().time
        try:
            while (generation := self._recovery.attempt(clock())) is not None:
                failure = await self._resume(generation)
                if failure is None:
                    logger.info("session %s: resumed by connection %d", self.session_id, generation)
                    self._settled.set()
                    return
                logger.info("session %s: connection %d not resumed: %s", self.session_id, generation, failure.reason)
                delay = self._recovery.not_resumed(failure, clock())
                if delay is not None:
                    await asyncio.sleep(delay)
        finally:
            # An unexpected error here must not leave callers waiting.
            failure = ResumeFailure("the client itself failed; see its log", is_temporary=False)
            self._recovery.not_resumed(failure, clock())
            if self._recovery.state is ConnectionState.FAILED and not self._is_released:
                self._release()

    async def _resume(self, generation: int) -> ResumeFailure | None:
        connection: Connection | None = None
        try:
            async with asyncio.timeout_at(self._recovery.deadline):
                connection, answer = await self._connect(generation, self.session_id)
                if answer.session_id != self.session_id:
                    raise ExecServerError(f"the server opened another session, {answer.session_id}")
                await self._listener.connection_resumed(connection)
                if not connection.is_alive:
                    raise ConnectionLost("it broke again while catching up")
                self._connection = connection
                self._recovery.resumed()
                return None
        except (*TEMPORARY, ExecServerError) as exc:
            return ResumeFailure(_reason(exc), is_temporary=_is_temporary(exc))
        finally:
            if connection is not None and connection is not self._connection:
                await connection.aclose()

    def _release(self) -> None:
        self._is_released = True
        self._settled.set()
        logger.info("session %s: %s", self.session_id, self._recovery.failure)
        self._listener.session_lost(SessionLost(self._recovery.failure))


def outcome_unknown(method: str) -> OutcomeUnknown:
    return OutcomeUnknown(
        f"cannot tell whether {method} was done: the connection broke before the answer; check, and try again"
    )


def _is_temporary(exc: Exception) -> bool:
    if isinstance(exc, RequestRefused):
        return exc.code == ALREADY_ATTACHED
    return isinstance(exc, TEMPORARY)


def _reason(exc: Exception) -> str:
    if isinstance(exc, RequestRefused):
        return exc.message
    return str(exc) or ("no answer in time" if isinstance(exc, TimeoutError) else type(exc).__name__)
