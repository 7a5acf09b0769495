"""One client's connection: decodes messages, calls methods, sends answers.

It does not use rpc.Peer: here requests run in order by default, an id of -1 answers unreadable messages, and for speed
most requests are done in the call that delivers them.

    request                                runs
    -------------------------------------  --------------------------------------------------------------
    that only waits (read, write, http)    at once, concurrently with the others
    environment/*, signal, terminate,      at once, if --concurrent-requests is 2 or more; else in order
      fs/close
    any other                              in order, at most --concurrent-requests at a time

While the client does not read, new requests are not started, except urgent ones, and finished ones are not answered. So
a connection holds at most one answer for each running request.
"""

from __future__ import annotations

import asyncio
import inspect
import logging
import math
import re
from collections import deque
from collections.abc import Callable, Coroutine
from typing import Any, Final, Protocol

import msgspec

from codex_mcp.base.tasks import TaskSet
from codex_mcp.execserver.envelope import (
    UnreadableMessage,
    encode_error,
    encode_result,
    encode_unreadable,
    read_message,
)
from codex_mcp.execserver.errors import internal_error, invalid_params, invalid_request, unknown_method
from codex_mcp.execserver.files.answer_budget import AnswerBudget, HeldAnswer
from codex_mcp.execserver.methods import METHODS, URGENT, WAITING, Method, Services
from codex_mcp.rpc.errors import RequestFailed
from codex_mcp.rpc.watermark import Watermark
from codex_mcp.transports.websockets.socket import SocketListener
from codex_mcp.wire.exec.protocol import Initialize, Initialized
from codex_mcp.wire.jsonrpc import Id, Notification, Request

logger = logging.getLogger(__name__)

QUEUE: Final = 128
"""Requests that may be queued; beyond that, the client's socket is not read. The real server's number."""

MAX_WAITING: Final = 1024
"""Waiting reads and writes of one connection; Codex never has more calls in flight."""

MISSING: Final = re.compile(r"Object missing required field `(\w+)`.*")


class ClientTransport(Protocol):
    peer: str
    """The client's address, for the log."""

    def send(self, *parts: bytes) -> None:
        """Queue one message, given in pieces."""

    def pause_reading(self) -> None: ...

    def resume_reading(self) -> None: ...

    def probe(self) -> None:
        """Another connection wants this client's session: close unless the client shows that it is alive."""

    def drop(self) -> None:
        """Write what is queued, then close."""


class StreamServer(Protocol):
    """Serves the harnesses: an exec-server, or a forwarder to one."""

    def is_full(self) -> bool: ...

    def accept(self, transport: ClientTransport) -> SocketListener: ...


class Owner(Protocol):
    """The part of the server that a connection uses."""

    budget: AnswerBudget
    """For the bytes of large answers, shared by all connections."""

    def initialize(self, connection: Connection, asked: Initialize) -> tuple[Initialized, Services]:
        """Open or resume a session. Raises RequestFailed."""

    def detach(self, connection: Connection) -> None: ...


class Connection:
    def __init__(self, transport: ClientTransport, owner: Owner, concurrent: int) -> None:
        self.transport = transport
        self.session_id: str | None = None
        self._owner = owner
        self._concurrent = concurrent
        self._services: Services | None = None
        self._is_ready = False
        self._is_over = False
        self._tasks = TaskSet()
        self._queue: deque[Request] = deque()
        self._running = 0
        self._waiting = 0
        self._mark = Watermark(QUEUE - 1, QUEUE - 1, transport.pause_reading, transport.resume_reading)
        self._is_full = False
        self._has_room = asyncio.Event()
        self._has_room.set()
        self._unread = 0
        """Bytes of large answers that were sent and may still be in memory."""

    def __repr__(self) -> str:
        return f"<Connection {self.transport.peer} session {self.session_id}>"

    def frame_received(self, frame: bytes) -> None:
        match read_message(frame):
            case Request() as request:
                self._request_received(request)
            case Notification(method):
                self._notification_received(method)
            case UnreadableMessage(reason):
                self.unreadable_received(reason)
            case _:
                logger.warning("%r: dropped, it answered a request that was never made", self)
                self.transport.drop()

    def unreadable_received(self, reason: str) -> None:
        kind = "JSON-RPC" if self.transport.peer == "stdio" else "websocket JSON-RPC"
        where = "stdio" if self.transport.peer == "stdio" else f"websocket {self.transport.peer}"
        self.transport.send(encode_unreadable(f"failed to parse {kind} message from exec-server {where}: {reason}"))

    def pause_writing(self) -> None:
        """The transport has too many unsent bytes: stop processes and requests from adding to them."""
        self._is_full = True
        self._has_room.clear()
        self._choose_reading()
        if self._services is not None:
            self._services.set_full(is_full=True)

    def resume_writing(self) -> None:
        self._is_full = False
        self._has_room.set()
        self._give_back()
        if self._services is not None:
            self._services.set_full(is_full=False)
        self._run_queued()

    def connection_lost(self) -> None:
        """The transport is closed. Processes keep running for a while; everything else ends."""
        self._is_over = True
        self._queue.clear()
        self._give_back()
        self._owner.detach(self)

    async def aclose(self) -> None:
        await self._tasks.aclose()
        self._give_back()
        if self._services is not None:
            await self._services.aclose()

    def _notification_received(self, method: str) -> None:
        if method == "initialized" and self._services is not None:
            self._is_ready = True
            return
        self.unreadable_received(f"unexpected notification `{method}`")
        logger.warning("%r: dropped, unexpected notification %r", self, method)
        self.transport.drop()

    def _request_received(self, request: Request) -> None:
        is_urgent = self._concurrent > 1 and request.method in URGENT
        if not is_urgent and (self._running >= self._concurrent or self._queue or self._is_full):
            self._queue.append(request)
            self._choose_reading()
        else:
            self._run(request)

    def _run(self, request: Request) -> None:
        try:
            outcome = self._outcome(request)
        except Exception as exc:  # noqa: BLE001  the boundary around handlers
            self._answer_error(request, exc)
            return
        if inspect.iscoroutine(outcome):
            self._run_later(request, outcome)
        else:
            self.transport.send(encode_result(request.id, outcome))

    def _outcome(self, request: Request) -> object:
        if request.method == "initialize":
            return self._initialize(request)
        method = METHODS.get(request.method)
        if method is None:
            raise unknown_method(request.method)
        params = _decoded(request, method)
        if self._services is None:
            raise invalid_request(f"client must call initialize before using {method.family} methods")
        if not self._is_ready:
            raise invalid_request(f"client must send initialized before using {method.family} methods")
        return method.call(self._services, params)

    def _initialize(self, request: Request) -> Initialized:
        asked: Initialize = _decode_params(request, _decode_initialize)
        if self._services is not None:
            raise invalid_request("initialize may only be sent once per connection")
        answer, self._services = self._owner.initialize(self, asked)
        self._services.set_full(is_full=self._is_full)
        self.session_id = answer.session_id
        return answer

    def _run_later(self, request: Request, work: Coroutine[Any, Any, object]) -> None:
        waits = request.method in WAITING
        if waits and self._waiting >= MAX_WAITING:
            work.close()
            self._answer_error(request, internal_error(f"more than {MAX_WAITING} requests wait on this connection"))
            return
        if waits:
            self._waiting += 1
        else:
            self._running += 1
        self._tasks.spawn(self._finish(request, work, waits=waits), name=f"exec {request.method}")

    async def _finish(self, request: Request, work: Coroutine[Any, Any, object], *, waits: bool) -> None:
        try:
            await self._send_result(request.id, await work)
        except Exception as exc:  # noqa: BLE001  the same boundary, for coroutines
            self._answer_error(request, exc)
        finally:
            if waits:
                self._waiting -= 1
            else:
                self._running -= 1
                self._run_queued()

    async def _send_result(self, message_id: Id, outcome: object) -> None:
        result, size = (outcome.result, outcome.size) if isinstance(outcome, HeldAnswer) else (outcome, 0)
        try:
            while self._is_full:  # again after each wait: another answer may have taken the room
                await self._has_room.wait()
            self.transport.send(encode_result(message_id, result))
        finally:
            self._unread += size
            if not self._is_full:
                self._give_back()

    def _give_back(self) -> None:
        size, self._unread = self._unread, 0
        if size:
            self._owner.budget.give_back(size)

    def _run_queued(self) -> None:
        while self._queue and self._running < self._concurrent and not self._is_over and not self._is_full:
            self._run(self._queue.popleft())
        self._choose_reading()

    def _choose_reading(self) -> None:
        self._mark.level(math.inf if self._is_full else len(self._queue))

    def _answer_error(self, request: Request, exc: Exception) -> None:
        if not isinstance(exc, RequestFailed):
            logger.error("cannot answer %s", request.method, exc_info=exc)
            exc = internal_error(f"{request.method} failed; see the server's log")
        self.transport.send(encode_error(request.id, exc.error.code, exc.error.message))


_decode_initialize: Final = msgspec.json.Decoder(Initialize).decode


def _decoded(request: Request, method: Method) -> object:
    if method.decode is not None:
        return _decode_params(request, method.decode)
    if bytes(request.params).strip() not in (b"null", b"{}"):
        raise invalid_params("invalid type, expected unit")
    return None


def _decode_params(request: Request, decode: Callable[[bytes], Any]) -> Any:
    try:
        return decode(request.params)
    except (msgspec.ValidationError, msgspec.DecodeError) as exc:
        raise invalid_params(MISSING.sub(r"missing field `\1`", str(exc))) from None
