"""One end of a JSON-RPC conversation over a channel.

Everything that arrives is met at the door, in order and without waiting: notifications and answers at once, a request
by calling its handler, whose synchronous part therefore runs in order too. A handler that returns a coroutine goes on
as a task of this peer. So a cancellation never waits behind the work that it cancels.
"""

from __future__ import annotations

import asyncio
import inspect
import logging
from collections.abc import Awaitable, Callable, Coroutine
from typing import Any, Final, TypeAlias

from msgspec import UNSET, Raw, Struct

from codex_mcp.base.tasks import TaskSet
from codex_mcp.rpc.channel import Channel, Kind
from codex_mcp.rpc.errors import AnswerTooLong, ConnectionLost, RequestFailed
from codex_mcp.rpc.frame import Frame, Unreadable
from codex_mcp.rpc.state import OpenCalls, Verdict
from codex_mcp.wire import jsonrpc
from codex_mcp.wire.jsonrpc import (
    INTERNAL_ERROR,
    INVALID_REQUEST,
    SERVER_BUSY,
    ErrorObject,
    ErrorResponse,
    Id,
    Malformed,
    Message,
    Notification,
    Request,
    Response,
)

logger = logging.getLogger(__name__)

RequestHandler: TypeAlias = Callable[[Request], object | Coroutine[Any, Any, object]]
NotificationHandler: TypeAlias = Callable[[Notification], None]
ShortenedHandler: TypeAlias = Callable[[Request | Notification | Malformed, str], None]


class Handlers(Struct, frozen=True):
    """Who hears what arrives. A request's handler answers at once, or returns the coroutine that will."""

    on_request: RequestHandler
    on_notification: NotificationHandler
    on_shortened: ShortenedHandler | None = None
    """Called, with the reason, before the outline of an over-long request or notification goes to its handler; without
    it such a message is refused. A `Malformed` was too long and has no outline."""


Pace: TypeAlias = Callable[[], Awaitable[None]]

PACED_FRAMES: Final = 64
"""Frames that are handled without a break: one read of a pipe holds a thousand, and takes 50 ms."""


class PendingCall(Struct, frozen=True):
    """A request that has been written; `answer` comes later."""

    id: int
    answer: asyncio.Future[Raw]


REFUSALS: Final = {
    Verdict.DUPLICATE: ErrorObject(INVALID_REQUEST, "Invalid Request: a request with this id is still running"),
    Verdict.TOO_MANY: ErrorObject(SERVER_BUSY, "Server busy: too many requests are running, wait for one to end"),
    Verdict.CLOSING: ErrorObject(SERVER_BUSY, "Server busy: the server is shutting down"),
}

STOPPED: Final = ErrorObject(INTERNAL_ERROR, "the server stopped before the request was done")


class Peer:
    """Sends requests and notifications, and hands what arrives to two handlers."""

    def __init__(
        self,
        channel: Channel,
        handlers: Handlers,
        *,
        max_requests: int,
        pace: Pace,
        version_required: bool = True,
    ) -> None:
        """`pace` is awaited after a batch of frames, and within a long one: there the reader can be held back."""
        self._channel = channel
        self._pace = pace
        self._handlers = handlers
        self._version_required = version_required
        self._calls = OpenCalls(max_requests)
        self._answers: dict[Id, asyncio.Future[Raw]] = {}
        self._tasks = TaskSet()

    def __repr__(self) -> str:
        return f"<Peer {self._calls!r}>"

    async def run(self) -> None:
        """Serve until the other end is gone. Then every request of ours that still waits fails with ConnectionLost."""
        try:
            while frames := await self._channel.receive():
                for begin in range(0, len(frames), PACED_FRAMES):
                    for frame in frames[begin : begin + PACED_FRAMES]:
                        self._frame_received(frame)
                    await self._pace()
        finally:
            self.connection_lost()

    def connection_lost(self) -> None:
        """Nobody will answer any longer; tell those who wait."""
        for message_id in self._calls.close():
            answer = self._answers.pop(message_id)
            if not answer.done():
                answer.set_exception(ConnectionLost("the connection was closed before the answer came"))
                answer.exception()  # whoever waited may be gone: an error nobody fetches is no news

    def start(self, method: str, params: object, about: Id | None = None) -> PendingCall:
        """Write a request now; await the returned call for its answer. `about`: see `Channel.send`."""
        answer: asyncio.Future[Raw] = asyncio.get_running_loop().create_future()
        if self._calls.closed:
            answer.set_exception(ConnectionLost("the connection is closed"))
            answer.exception()
            return PendingCall(-1, answer)
        message_id = self._calls.open()
        self._answers[message_id] = answer
        self._channel.send(jsonrpc.encode_request(message_id, method, params), about, Kind.REQUEST)
        return PendingCall(message_id, answer)

    async def call(self, method: str, params: object) -> Raw:
        """Ask, and wait for the answer. Raises RequestFailed or ConnectionLost."""
        pending = self.start(method, params)
        try:
            return await pending.answer
        finally:
            self.forget(pending)

    def forget(self, pending: PendingCall) -> None:
        """Nobody waits for this answer any longer."""
        if self._calls.settle(pending.id):
            self._answers.pop(pending.id).cancel()

    def notify(self, method: str, params: object = UNSET, about: Id | None = None) -> None:
        """Tell the other end something. `about`: see `Channel.send`."""
        self._channel.send(jsonrpc.encode_notification(method, params), about)

    def stop_accepting(self) -> None:
        """Refuse new requests; those that run go on."""
        self._calls.stop_accepting()

    async def aclose(self) -> None:
        """Cancel what runs, release everyone who waits, close the channel."""
        self._calls.stop_accepting()
        await self._tasks.aclose()
        self.connection_lost()
        await self._channel.aclose()

    def message_received(self, message: Message) -> None:
        """Meet a message now, whose sender does not want to wait until the reader comes to it."""
        self._frame_received(message)

    def _frame_received(self, frame: Frame) -> None:
        if isinstance(frame, Unreadable):
            self._unreadable_received(frame)
        elif isinstance(frame, bytes):
            self._message_received(jsonrpc.decode(frame, version_required=self._version_required))
        else:
            self._message_received(frame)

    def _unreadable_received(self, frame: Unreadable) -> None:
        """A message was thrown away. If its outline says what it was, whoever waits for it is told."""
        outline = jsonrpc.decode(frame.outline, version_required=self._version_required)
        shortened = self._handlers.on_shortened
        refused = Malformed(None, INVALID_REQUEST, f"Invalid Request: {frame.reason}")
        match outline:
            case Response(id=message_id) | ErrorResponse(id=message_id):
                self._answer_received(message_id, AnswerTooLong(ErrorObject(INVALID_REQUEST, frame.reason)))
            case Request() | Notification() if shortened is not None:
                logger.warning("shortened %s: %s", outline.method, frame.reason)
                shortened(outline, frame.reason)
                self._message_received(outline)
            case Request(id=message_id):
                self._message_received(Malformed(message_id, refused.code, refused.reason))
            case _:
                self._message_received(refused)
                if shortened is not None:
                    shortened(refused, frame.reason)

    def _message_received(self, message: Message) -> None:
        match message:
            case Notification():
                self._notification_received(message)
            case Request():
                self._request_received(message)
            case Response(id=message_id, result=result):
                self._answer_received(message_id, result)
            case ErrorResponse(id=message_id, error=error):
                self._answer_received(message_id, RequestFailed(error))
            case Malformed(id=message_id, code=code, reason=reason):
                logger.warning("a message could not be read: %s", reason)
                self._channel.send(jsonrpc.encode_error(message_id, ErrorObject(code, reason)), message_id, Kind.ANSWER)

    def _notification_received(self, message: Notification) -> None:
        try:
            self._handlers.on_notification(message)
        except Exception:
            logger.exception("cannot handle %s", message.method)  # there is nobody to answer

    def _answer_received(self, message_id: Id | None, answer: Raw | RequestFailed) -> None:
        if not self._calls.settle(message_id):
            logger.info("an answer came for id %r, which is not (or no longer) open", message_id)
            return
        assert message_id is not None
        waiting = self._answers.pop(message_id)
        if waiting.done():
            return
        if isinstance(answer, RequestFailed):
            waiting.set_exception(answer)
        else:
            waiting.set_result(answer)

    def _request_received(self, request: Request) -> None:
        verdict = self._calls.accept(request.id)
        if verdict is not Verdict.ACCEPTED:
            self._channel.send(jsonrpc.encode_error(request.id, REFUSALS[verdict]), request.id, Kind.ANSWER)
            return
        try:
            outcome = self._handlers.on_request(request)
        except Exception as exc:  # noqa: BLE001  the one boundary around handlers
            outcome = error_for(exc, request.method)
        if inspect.iscoroutine(outcome):
            work = outcome
            finishing = self._tasks.spawn(self._finish(request, work), name=f"request {request.method}")
            finishing.add_done_callback(lambda _: self._finished(request, work))
        else:
            self._answer(request, outcome)

    async def _finish(self, request: Request, work: Coroutine[Any, Any, object]) -> None:
        try:
            outcome = await work
        except asyncio.CancelledError:
            self._answer(request, STOPPED)
            raise
        except Exception as exc:  # noqa: BLE001  the same boundary, for those that take their time
            outcome = error_for(exc, request.method)
        self._answer(request, outcome)

    def _finished(self, request: Request, work: Coroutine[Any, Any, object]) -> None:
        # Cancelled before its first step, `_finish` never ran at all.
        if inspect.getcoroutinestate(work) == inspect.CORO_CREATED:
            work.close()
            self._answer(request, STOPPED)

    def _answer(self, request: Request, outcome: object) -> None:
        if not self._calls.answered(request.id):
            return
        try:
            frame = _encoded(request.id, outcome)
        except Exception as exc:  # noqa: BLE001  a handler's value that is no JSON
            frame = _encoded(request.id, error_for(exc, request.method))
        self._channel.send(frame, request.id, Kind.ANSWER)


def _encoded(message_id: Id, outcome: object) -> bytes:
    if isinstance(outcome, ErrorObject):
        return jsonrpc.encode_error(message_id, outcome)
    return jsonrpc.encode_response(message_id, outcome)


def error_for(exc: Exception, method: str) -> ErrorObject:
    """The one place where exceptions become wire errors; the text of an unexpected one stays off the wire."""
    if isinstance(exc, RequestFailed):
        return exc.error
    logger.error("cannot answer %s: %r", method, exc, exc_info=exc)
    return ErrorObject(INTERNAL_ERROR, f"Internal error: {method} failed; the server's log says why")
