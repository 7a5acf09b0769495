"""One end of a JSON-RPC conversation over a channel.

Messages are handled in order, as they arrive, without waiting. The handler of a request is called at once, so its
synchronous part runs in order too; a handler that returns a coroutine continues as a task of this peer. So a
cancellation never waits behind the work that it cancels.
"""

from __future__ import annotations

import asyncio
import inspect
import logging
from collections.abc import Awaitable, Callable, Coroutine
from functools import partial
from typing import Any, Final, TypeAlias

from msgspec import UNSET, Raw, Struct

from codex_mcp.base.tasks import TaskSet
from codex_mcp.rpc import codec
from codex_mcp.rpc.channel import Channel, Frame, FrameKind, UnreadableFrame
from codex_mcp.rpc.errors import AnswerTooLong, ConnectionLost, RequestFailed
from codex_mcp.rpc.state import Acceptance, OpenCalls
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
    """What to call for each message. A request's handler returns the answer, or a coroutine that will."""

    on_request: RequestHandler
    on_notification: NotificationHandler
    on_shortened: ShortenedHandler | None = None
    """Called with the reason before the outline of an overlong request or notification goes to its handler. Without it
    such a message is refused. It gets a `Malformed` for an overlong message without an outline."""


Pace: TypeAlias = Callable[[], Awaitable[None]]


async def no_pace() -> None:
    """Nothing is held back: the other end sends little, or its channel holds it back."""


PACED_FRAMES: Final = 64
"""Frames handled without a break: one read from a pipe can hold a thousand, which takes 50 ms."""

PACED_BYTES: Final = 64 * 1024
"""Bytes of frames handled without a break."""


class PendingCall(Struct, frozen=True):
    """A request that has been sent; `answer` is set later."""

    id: int
    answer: asyncio.Future[Raw]

    @property
    def is_answered(self) -> bool:
        """The answer has arrived, though the caller that waits for it may not have run since."""
        if not self.answer.done() or self.answer.cancelled():
            return False
        return not isinstance(self.answer.exception(), ConnectionLost)


REFUSALS: Final = {
    Acceptance.DUPLICATE: ErrorObject(INVALID_REQUEST, "Invalid Request: a request with this id is still running"),
    Acceptance.TOO_MANY: ErrorObject(SERVER_BUSY, "Server busy: too many requests are running, wait for one to end"),
    Acceptance.CLOSING: ErrorObject(SERVER_BUSY, "Server busy: the server is shutting down"),
}

STOPPED: Final = ErrorObject(INTERNAL_ERROR, "the server stopped before the request was done")


class Peer:
    """Sends requests and notifications, and calls handlers for those that arrive."""

    def __init__(
        self,
        channel: Channel,
        handlers: Handlers,
        *,
        max_requests: int,
        pace: Pace = no_pace,
        version_required: bool = True,
    ) -> None:
        """`pace` is awaited after every PACED_FRAMES frames or PACED_BYTES bytes; it can hold the reader back."""
        self._channel = channel
        self._pace = pace
        self._handlers = handlers
        self._version_required = version_required
        self._calls = OpenCalls(max_requests)
        self._answers: dict[Id, asyncio.Future[Raw]] = {}
        self._tasks = TaskSet()
        self._unpaced_frames = self._unpaced_bytes = 0

    def __repr__(self) -> str:
        return f"<Peer {self._calls!r}>"

    def run(self) -> Coroutine[Any, Any, None]:
        """Serve until the other end is gone. Requests that still wait for an answer then fail with ConnectionLost."""
        return self._channel.read(self)  # not awaited here: each message would pass through this call

    def frame_received(self, frame: Frame) -> Awaitable[object] | None:
        """Handle a frame now; the next one comes after what is returned."""
        self._unpaced_frames += 1
        if isinstance(frame, bytes):
            self._unpaced_bytes += len(frame)
            self.message_received(codec.decode(frame, version_required=self._version_required))
        elif isinstance(frame, UnreadableFrame):
            self._unreadable_received(frame)
        else:
            self.message_received(frame)
        if self._unpaced_frames < PACED_FRAMES and self._unpaced_bytes < PACED_BYTES:
            return None
        self._unpaced_frames = self._unpaced_bytes = 0
        return self._pace()

    def connection_lost(self) -> None:
        """No more answers will come: fail the requests that wait for one."""
        for message_id in self._calls.close():
            answer = self._answers.pop(message_id)
            if not answer.done():
                answer.set_exception(ConnectionLost("the connection was closed before the answer came"))
                answer.exception()  # the caller may be gone: do not warn about an exception that was never retrieved

    def start(self, method: str, params: object, about: Id | None = None) -> PendingCall:
        """Send a request; await `answer` of the returned call. `about`: see `Channel.send`."""
        answer: asyncio.Future[Raw] = asyncio.get_running_loop().create_future()
        if self._calls.closed:
            answer.set_exception(ConnectionLost("the connection is closed"))
            answer.exception()
            return PendingCall(-1, answer)
        message_id = self._calls.open()
        self._answers[message_id] = answer
        self._channel.send(codec.encode_request(message_id, method, params), about, FrameKind.REQUEST)
        return PendingCall(message_id, answer)

    async def call(self, method: str, params: object) -> Raw:
        """Send a request and wait for its answer. Raises RequestFailed or ConnectionLost."""
        pending = self.start(method, params)
        try:
            return await pending.answer
        finally:
            self.forget(pending)

    def forget(self, pending: PendingCall) -> None:
        """Stop waiting for this answer."""
        if self._calls.settle(pending.id):
            self._answers.pop(pending.id).cancel()

    def notify(self, method: str, params: object = UNSET, about: Id | None = None) -> None:
        """Send a notification. `about`: see `Channel.send`."""
        self._channel.send(codec.encode_notification(method, params), about)

    def stop_accepting(self) -> None:
        self._calls.stop_accepting()

    def accept_up_to(self, requests: int) -> None:
        """Accept so many open requests from now on."""
        self._calls.accept_up_to(requests)

    async def aclose(self) -> None:
        """Cancel running requests, fail waiting ones, close the channel."""
        self._calls.stop_accepting()
        await self._tasks.aclose()
        await asyncio.sleep(0)  # what has just ended is answered before the channel is closed
        self.connection_lost()
        await self._channel.aclose()

    def _unreadable_received(self, frame: UnreadableFrame) -> None:
        """A message was discarded. If its outline tells what it was, its sender or caller is told."""
        outline = codec.decode(frame.outline, version_required=self._version_required)
        shortened = self._handlers.on_shortened
        refused = Malformed(None, INVALID_REQUEST, f"Invalid Request: {frame.reason}")
        match outline:
            case Response(id=message_id) | ErrorResponse(id=message_id):
                self._answer_received(message_id, AnswerTooLong(ErrorObject(INVALID_REQUEST, frame.reason)))
            case Request() | Notification() if shortened is not None:
                logger.warning("shortened %s: %s", outline.method, frame.reason)
                shortened(outline, frame.reason)
                self.message_received(outline)
            case Request(id=message_id):
                self.message_received(Malformed(message_id, refused.code, refused.reason))
            case _:
                self.message_received(refused)
                if shortened is not None:
                    shortened(refused, frame.reason)

    def message_received(self, message: Message) -> None:
        """Handle a message now. A transport may call this instead of passing the message through its channel."""
        match message:
            case Notification():
                try:
                    self._handlers.on_notification(message)
                except Exception:
                    logger.exception("cannot handle %s", message.method)  # a notification has no answer
            case Request():
                self._request_received(message)
            case Response(id=message_id, result=result):
                self._answer_received(message_id, result)
            case ErrorResponse(id=message_id, error=error):
                self._answer_received(message_id, RequestFailed(error))
            case Malformed(id=message_id, code=code, reason=reason):
                logger.warning("a message could not be read: %s", reason)
                self._channel.send(
                    codec.encode_error(message_id, ErrorObject(code, reason)), message_id, FrameKind.ANSWER
                )

    def _answer_received(self, message_id: Id | None, answer: Raw | RequestFailed) -> None:
        if not self._calls.settle(message_id):
            logger.info("received an answer with id %r, which is not (or no longer) open", message_id)
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
        # Not the request is kept while it runs: its message may have megabytes. Its handler takes what it needs.
        request_id, method = request.id, request.method
        verdict = self._calls.accept(request_id)
        if verdict is not Acceptance.ACCEPTED:
            self._channel.send(codec.encode_error(request_id, REFUSALS[verdict]), request_id, FrameKind.ANSWER)
            return
        try:
            outcome = self._handlers.on_request(request)
        except Exception as exc:  # noqa: BLE001  the one boundary around handlers
            outcome = error_for(exc, method)
        if inspect.iscoroutine(outcome):
            self._tasks.spawn(outcome, name=f"request {method}", ended=partial(self._ended, request_id, method))
        else:
            self._answer(request_id, method, outcome)

    def _ended(self, request_id: Id, method: str, work: asyncio.Task[object]) -> None:
        if work.cancelled():
            outcome: object = STOPPED
        elif (exc := work.exception()) is not None:
            outcome = error_for(exc, method)
        else:
            outcome = work.result()
        self._answer(request_id, method, outcome)

    def _answer(self, request_id: Id, method: str, outcome: object) -> None:
        if not self._calls.answered(request_id):
            return
        try:
            frame = _encoded(request_id, outcome)
        except Exception as exc:  # noqa: BLE001  a handler's value that cannot be written as JSON
            frame = _encoded(request_id, error_for(exc, method))
        self._channel.send(frame, request_id, FrameKind.ANSWER)


def _encoded(message_id: Id, outcome: object) -> bytes:
    if isinstance(outcome, ErrorObject):
        return codec.encode_error(message_id, outcome)
    return codec.encode_response(message_id, outcome)


def call_once_answered(call: Callable[..., object], *args: object) -> None:
    """For a handler: call this after its answer, which is sent in the pass of the event loop after its last step."""
    loop = asyncio.get_running_loop()
    loop.call_soon(loop.call_soon, call, *args)


def error_for(exc: BaseException, method: str) -> ErrorObject:
    """The one place where exceptions become error answers. The text of an unexpected one is logged, not sent."""
    if isinstance(exc, RequestFailed):
        return exc.error
    logger.error("cannot answer %s: %r", method, exc, exc_info=exc)
    return ErrorObject(INTERNAL_ERROR, f"Internal error: {method} failed; the server's log says why")
