"""One client's connection: reads its messages, calls what they ask for, answers.

Not rpc.Peer: here requests keep their order unless told otherwise, an id of -1 answers what cannot be read, and most
requests are done within the call that delivers them, which is where the speed comes from.

    request                                runs
    -------------------------------------  --------------------------------------------------------------
    that only waits (read, write, http)    beside the others, from the first moment
    environment/*, signal, terminate,      at once, if --concurrent-requests is 2 or more; else in order
      fs/close
    any other                              in order, or so many at once as --concurrent-requests says

While the client does not read what was sent to it, requests wait: those that have come are not begun, except urgent
ones, and those that are done are not answered. So a connection holds at most one answer for each request that runs.
"""

from __future__ import annotations

import asyncio
import inspect
import logging
import re
from collections import deque
from collections.abc import Callable, Coroutine
from typing import Any, Final, Protocol

import msgspec

from codex_mcp.base.tasks import TaskSet
from codex_mcp.execserver.errors import internal_error, invalid_params, invalid_request, unknown_method
from codex_mcp.execserver.files.answer_budget import AnswerBudget, HeldAnswer
from codex_mcp.execserver.methods import METHODS, URGENT, WAITING, Desk, Method
from codex_mcp.rpc.errors import RequestFailed
from codex_mcp.wire.exec.envelope import (
    Call,
    Note,
    Reply,
    Unreadable,
    encode_error,
    encode_result,
    encode_unreadable,
    read_message,
)
from codex_mcp.wire.exec.protocol import Initialize, Initialized
from codex_mcp.wire.jsonrpc import Id

logger = logging.getLogger(__name__)

QUEUE: Final = 128
"""Requests that may wait for their turn; beyond it the client's socket is not read. The real server's number."""

MAX_WAITING: Final = 1024
"""Reads and writes of one connection that may wait at once; Codex never has more calls than that in flight."""

MISSING: Final = re.compile(r"Object missing required field `(\w+)`.*")

_encode = msgspec.json.Encoder().encode


class Outlet(Protocol):
    """The way back to the client."""

    peer: str
    """Where the client is, for messages about it."""

    def send(self, *parts: bytes) -> None:
        """Queue one message, given in pieces."""

    def pause_reading(self) -> None:
        """Take nothing from the client for now."""

    def resume_reading(self) -> None:
        """Go on."""

    def probe(self) -> None:
        """Somebody else wants this client's session: close unless it shows a sign of life."""

    def drop(self) -> None:
        """Write what is queued, then close."""


class Owner(Protocol):
    """The server, as far as a connection needs it."""

    budget: AnswerBudget
    """For the bytes of large answers, shared by all connections."""

    def initialize(self, connection: Connection, asked: Initialize) -> tuple[Initialized, Desk]:
        """Open or resume a session. Raises RequestFailed."""

    def detach(self, connection: Connection) -> None:
        """The connection is over."""


class Connection:
    """From the first byte to the last."""

    def __init__(self, outlet: Outlet, owner: Owner, concurrent: int) -> None:
        self.outlet = outlet
        self.session_id: str | None = None
        self._owner = owner
        self._concurrent = concurrent
        self._desk: Desk | None = None
        self._is_ready = False
        self._is_over = False
        self._tasks = TaskSet()
        self._queue: deque[Call] = deque()
        self._running = 0
        self._waiting = 0
        self._is_held = False
        self._is_full = False
        self._has_room = asyncio.Event()
        self._has_room.set()
        self._unread = 0
        """Bytes of large answers that were sent, and may still be in our memory."""

    def __repr__(self) -> str:
        return f"<Connection {self.outlet.peer} session {self.session_id}>"

    # What the transport tells.

    def frame_received(self, frame: bytes) -> None:
        """One message."""
        match read_message(frame):
            case Call() as call:
                self._call_received(call)
            case Note(method):
                self._note_received(method)
            case Reply():
                logger.warning("%r: dropped, it answered a request that was never made", self)
                self.outlet.drop()
            case Unreadable(reason):
                self.unreadable_received(reason)

    def unreadable_received(self, reason: str) -> None:
        """Something that is no message."""
        kind = "JSON-RPC" if self.outlet.peer == "stdio" else "websocket JSON-RPC"
        where = "stdio" if self.outlet.peer == "stdio" else f"websocket {self.outlet.peer}"
        self.outlet.send(encode_unreadable(f"failed to parse {kind} message from exec-server {where}: {reason}"))

    def outlet_full(self) -> None:
        """The client reads too slowly: neither processes nor its own requests shall add to the pile."""
        self._is_full = True
        self._has_room.clear()
        self._choose_reading()
        if self._desk is not None:
            self._desk.outlet_changed(is_full=True)

    def outlet_ready(self) -> None:
        """There is room again."""
        self._is_full = False
        self._has_room.set()
        self._give_back()
        if self._desk is not None:
            self._desk.outlet_changed(is_full=False)
        self._run_queued()

    def connection_lost(self) -> None:
        """It is over: processes live on for a while, all else ends."""
        self._is_over = True
        self._queue.clear()
        self._give_back()
        self._owner.detach(self)

    async def aclose(self) -> None:
        """End what still runs for this connection."""
        await self._tasks.aclose()
        self._give_back()
        if self._desk is not None:
            await self._desk.aclose()

    # Messages.

    def _note_received(self, method: str) -> None:
        if method == "initialized" and self._desk is not None:
            self._is_ready = True
            return
        self.unreadable_received(f"unexpected notification `{method}`")
        logger.warning("%r: dropped, unexpected notification %r", self, method)
        self.outlet.drop()

    def _call_received(self, call: Call) -> None:
        is_urgent = self._concurrent > 1 and call.method in URGENT
        if not is_urgent and (self._running >= self._concurrent or self._queue or self._is_full):
            self._queue.append(call)
            self._choose_reading()
        else:
            self._run(call)

    def _run(self, call: Call) -> None:
        try:
            outcome = self._outcome(call)
        except RequestFailed as exc:
            self._answer_error(call.id, exc)
            return
        except Exception:  # the one boundary around handlers
            logger.exception("cannot answer %s", call.method)
            self._answer_error(call.id, internal_error(f"{call.method} failed; the server's log says why"))
            return
        if inspect.iscoroutine(outcome):
            self._run_later(call, outcome)
        else:
            self.outlet.send(encode_result(call.id, outcome))

    def _outcome(self, call: Call) -> object:
        if call.method == "initialize":
            return self._initialize(call)
        method = METHODS.get(call.method)
        if method is None:
            raise unknown_method(call.method)
        params = _decoded(call, method)
        if self._desk is None:
            raise invalid_request(f"client must call initialize before using {method.family} methods")
        if not self._is_ready:
            raise invalid_request(f"client must send initialized before using {method.family} methods")
        return method.call(self._desk, params)

    def _initialize(self, call: Call) -> Initialized:
        asked = _decode_params(call, _decode_initialize)
        if self._desk is not None:
            raise invalid_request("initialize may only be sent once per connection")
        answer, self._desk = self._owner.initialize(self, asked)
        self._desk.outlet_changed(is_full=self._is_full)
        self.session_id = answer.session_id
        return answer

    # Requests that take their time.

    def _run_later(self, call: Call, work: Coroutine[Any, Any, object]) -> None:
        waits = call.method in WAITING
        if waits and self._waiting >= MAX_WAITING:
            work.close()
            self._answer_error(call.id, internal_error(f"more than {MAX_WAITING} requests wait on this connection"))
            return
        if waits:
            self._waiting += 1
        else:
            self._running += 1
        self._tasks.spawn(self._finish(call, work, waits=waits), name=f"exec {call.method}")

    async def _finish(self, call: Call, work: Coroutine[Any, Any, object], *, waits: bool) -> None:
        try:
            outcome = await work
            await self._send_result(call.id, outcome)
        except RequestFailed as exc:
            self._answer_error(call.id, exc)
        except Exception:  # the same boundary, for those that take their time
            logger.exception("cannot answer %s", call.method)
            self._answer_error(call.id, internal_error(f"{call.method} failed; the server's log says why"))
        finally:
            if waits:
                self._waiting -= 1
            else:
                self._running -= 1
                self._run_queued()

    async def _send_result(self, message_id: Id, outcome: object) -> None:
        result, size = (outcome.result, outcome.size) if isinstance(outcome, HeldAnswer) else (outcome, 0)
        try:
            while self._is_full:  # others wait for room as well, and the first of them may take it all
                await self._has_room.wait()
            self.outlet.send(encode_result(message_id, result))
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
        """Read from the client, or let it wait."""
        shall_hold = self._is_full or len(self._queue) >= QUEUE
        if shall_hold and not self._is_held:
            self.outlet.pause_reading()
        elif self._is_held and not shall_hold:
            self.outlet.resume_reading()
        self._is_held = shall_hold

    def _answer_error(self, message_id: Id, exc: RequestFailed) -> None:
        self.outlet.send(encode_error(message_id, exc.error.code, exc.error.message))


_decode_initialize: Final = msgspec.json.Decoder(Initialize).decode


def _decoded(call: Call, method: Method) -> object:
    if method.decode is not None:
        return _decode_params(call, method.decode)
    if bytes(call.params).strip() not in (b"null", b"{}"):
        raise invalid_params("invalid type, expected unit")
    return None


P = Any


def _decode_params(call: Call, decode: Callable[[bytes], P]) -> P:
    try:
        return decode(call.params)
    except (msgspec.ValidationError, msgspec.DecodeError) as exc:
        raise invalid_params(MISSING.sub(r"missing field `\1`", str(exc))) from None
    except asyncio.CancelledError:
        raise
