"""`/mcp`: Streamable HTTP, for clients of the handshake era and for stateless ones.

    POST    a request          JSON if the answer comes soon and alone, else a stream of its own
            anything else      202
    GET     the standing stream of a session, or (Last-Event-ID) the rest of a stream whose connection was lost
    DELETE  the session ends

A GET without a session would be an error by the specification; the bus answers it (`bus_endpoint`), and POSTs to a
session that was created there go to the bus as well.
"""

from __future__ import annotations

import asyncio
import re
from typing import Final

import msgspec

from codex_mcp.base.logs import about_only
from codex_mcp.base.settings.http import HttpSettings
from codex_mcp.base.settings.kinds import Protocol
from codex_mcp.base.tasks import TaskSet
from codex_mcp.mcp.eras import (
    VERSION_HEADER,
    Era,
    OutOfRules,
    era_over_http,
    is_stateless_header,
    stateless_caller,
    unsupported,
)
from codex_mcp.mcp.http.bus_endpoint import SESSION_HEADER, BusEndpoint, deliver, sent_with, too_many
from codex_mcp.mcp.http.endpoint import (
    RETRY_LATER,
    Refusal,
    accepts,
    answer_json,
    read_message,
    refusal,
)
from codex_mcp.mcp.http.hub import Hub, HubSession, TooManySessions
from codex_mcp.mcp.known_clients import takes_priming
from codex_mcp.mcp.session import Session, SessionOrigin
from codex_mcp.rpc.peer import Handlers, Peer
from codex_mcp.rpc.watched import watched
from codex_mcp.transports.http import JSON, HttpExchange
from codex_mcp.transports.streams.answer_channel import AnswerChannel
from codex_mcp.transports.streams.live_stream import LiveStream
from codex_mcp.transports.streams.sse import StreamStyle, stream_out
from codex_mcp.wire import mcp
from codex_mcp.wire.jsonrpc import (
    INTERNAL_ERROR,
    INVALID_PARAMS,
    INVALID_REQUEST,
    METHOD_NOT_FOUND,
    PARSE_ERROR,
    ErrorObject,
    Message,
    Request,
)

STATUS_OF: Final = {
    PARSE_ERROR: 400,
    INVALID_REQUEST: 400,
    INVALID_PARAMS: 400,
    METHOD_NOT_FOUND: 404,
    INTERNAL_ERROR: 500,
    mcp.HEADER_MISMATCH: 400,
    mcp.MISSING_CAPABILITY: 400,
    mcp.UNSUPPORTED_VERSION: 400,
}
"""The HTTP status of a stateless error that is answered as plain JSON."""

WATCH_AFTER: Final = 0.25
"""Seconds after which a stateless request is watched for its client's disconnect; shorter ones save the cost."""

_NUMBER: Final = re.compile(r"[0-9]{1,18}")
"""ASCII digits only, and not too many: headers may hold any others."""


class McpEndpoint:
    def __init__(self, hub: Hub, bus: BusEndpoint, settings: HttpSettings) -> None:
        self._hub = hub
        self._bus = bus
        self._settings = settings

    async def serve(self, http: HttpExchange, principal: str) -> None:
        if self._is_stateless(http):
            await self._serve_stateless(http, principal)
            return
        match http.method:
            case "POST":
                await self._post(http, principal)
            case "GET":
                await self._get(http, principal)
            case "DELETE":
                await self._hub.close(self._session(http, principal))
                await http.respond(200)
            case _:
                raise refusal(405, "Method Not Allowed: use POST, GET or DELETE", (b"allow", b"POST, GET, DELETE"))

    async def _post(self, http: HttpExchange, principal: str) -> None:
        message = await read_message(http, self._settings.max_body_bytes)
        session = self._session_for(http, principal, message)
        if session.is_bus:
            posted = self._bus.post_message(http, session, message)
            del message
            await posted
            return
        http.extra_headers.append(sent_with(session))
        if not isinstance(message, Request):
            deliver(session, message)
            await http.respond(202)
            return
        request_id = message.id
        stream = session.channel.expect(request_id, answer_only=not accepts(http.headers, "text/event-stream"))
        if stream is None:
            raise Refusal(400, ErrorObject(INVALID_REQUEST, "a request with this id is still running"), request_id)
        session.channel.reader_came(stream)
        was_read = False
        http.when_lost(lambda: session.session.answer_unread(request_id))
        try:
            deliver(session, message)
            del message  # it may have megabytes, and is not needed while its request runs
            was_read = await self._answer(http, stream, session.session)
        finally:
            session.channel.reader_left(stream)
            if not http.is_stream:
                session.channel.taken_whole(stream)
            if not was_read:
                http.when_lost(None)
                if not stream.readers:
                    session.session.answer_unread(request_id)

    async def _answer(self, http: HttpExchange, stream: LiveStream, session: Session | None = None) -> bool:
        """Send JSON if the answer comes soon and alone, else a stream. True: the client has got all of it.

        A stream of a session can be resumed.
        """
        if not accepts(http.headers, "text/event-stream"):
            await answer_json(http, stream)
            return True
        batch = await stream.take(0, self._settings.quiet_time)
        is_whole = stream.ended and batch.last >= stream.ring.last
        if is_whole and len(batch.messages) == 1:
            frame = batch.messages[0].frame
            await http.respond(_status(frame) if session is None else 200, frame, JSON)
            return True
        return await stream_out(http, stream, 0, self._style(session))

    def _style(self, session: Session | None) -> StreamStyle:
        if session is None:
            return StreamStyle(self._settings.ping_interval)
        is_primed = takes_priming(session.client.revision)
        return StreamStyle(self._settings.ping_interval, is_resumable=True, is_primed=is_primed)

    async def _get(self, http: HttpExchange, principal: str) -> None:
        if not accepts(http.headers, "text/event-stream"):
            raise refusal(406, "Not Acceptable: a GET is answered with text/event-stream")
        if SESSION_HEADER not in http.headers and not self._settings.strict_sessions:
            await self._bus.get(http, principal)
            return
        session = self._session(http, principal)
        if session.is_bus:
            await self._bus.get(http, principal)
            return
        stream, number = session.channel.standing, session.channel.standing.ring.last_read
        if (last := http.headers.get("last-event-id")) is not None:
            stream, number = _resumed(session, last)
        stream.continue_after(number)
        http.extra_headers.append(sent_with(session))
        session.channel.reader_came(stream)
        request_id = session.channel.request_read_on(stream)
        if request_id is not None:
            session.session.answer_read_again(request_id)
        was_read = False
        if request_id is not None:
            http.when_lost(lambda: session.session.answer_unread(request_id))
        try:
            was_read = await stream_out(http, stream, number, self._style(session.session))
        finally:
            session.channel.reader_left(stream)
            if request_id is not None and not was_read:
                http.when_lost(None)
                if not stream.readers:
                    session.session.answer_unread(request_id)

    def _session_for(self, http: HttpExchange, principal: str, message: Message) -> HubSession:
        if not isinstance(message, Request) or message.method != "initialize":
            return self._session(http, principal)
        given = http.headers.get(SESSION_HEADER)
        if given is not None and (known := self._hub.find(principal, given, http.client)) is not None and known.is_bus:
            return known
        try:
            params = msgspec.json.decode(message.params, type=mcp.Initialize)
            return self._hub.introduce(principal, params, http.client)
        except msgspec.MsgspecError as exc:
            raise Refusal(400, ErrorObject(INVALID_PARAMS, f"Invalid params: {exc}"), message.id) from exc
        except TooManySessions as exc:
            raise too_many(exc) from None

    def _session(self, http: HttpExchange, principal: str) -> HubSession:
        session_id = http.headers.get(SESSION_HEADER)
        if session_id is None:
            raise refusal(400, "Bad Request: the header mcp-session-id is missing; begin with initialize")
        try:
            session = self._hub.find(principal, session_id, http.client)
        except TooManySessions as exc:
            raise too_many(exc) from None
        if session is None:
            raise refusal(404, "Not Found: there is no such session; begin again with initialize")
        return session

    def _is_stateless(self, http: HttpExchange) -> bool:
        version = http.headers.get(VERSION_HEADER)
        if not is_stateless_header(version):
            return False
        if self._hub.calls.protocol is Protocol.LEGACY:
            raise Refusal(400, unsupported(version or "", mcp.REVISIONS))
        return True

    async def _serve_stateless(self, http: HttpExchange, principal: str) -> None:
        if http.method != "POST":
            raise refusal(405, "Method Not Allowed: this revision of MCP uses POST alone", (b"allow", b"POST"))
        message = await read_message(http, self._settings.max_body_bytes)
        version = http.headers[VERSION_HEADER]
        if not isinstance(message, Request):
            if version not in mcp.STATELESS_REVISIONS:
                raise Refusal(400, unsupported(version))
            await http.respond(202)
            return
        if self._hub.closing:
            raise refusal(503, "Service Unavailable: the server is stopping", RETRY_LATER)
        if self._hub.is_full_for(principal):
            raise refusal(503, "Service Unavailable: too many requests at once, come again later", RETRY_LATER)
        era = era_over_http(message, http.headers)
        if isinstance(era, OutOfRules):
            raise Refusal(STATUS_OF.get(era.error.code, 400), era.error, message.id)
        await self._serve_peer(http, principal, message, era)

    async def _serve_peer(self, http: HttpExchange, principal: str, request: Request, era: Era) -> None:
        """Give the request a peer of its own, which reads this one message and answers it."""

        def on_request(message: Request) -> object:
            return self._hub.methods.handle(session, message, era)

        channel = AnswerChannel(request, self._hub.stateless)
        peer = Peer(watched(channel, "client"), Handlers(on_request, lambda _: None), max_requests=1)
        caller = stateless_caller(principal, era, http.headers.get("user-agent", ""))
        session = Session(peer, self._hub.tools, self._hub.calls, SessionOrigin(principal, caller=caller))
        with about_only(session.subject):
            await peer.run()
            if channel.answer:
                await http.respond(_status(channel.answer, otherwise=400), channel.answer, JSON)
                return
            self._hub.exchanges.add(session)
            try:
                await self._follow(http, session, request, channel.stream)
            finally:
                self._hub.exchanges.discard(session)
                if not channel.stream.ended:
                    await peer.aclose()
                session.close()

    async def _follow(self, http: HttpExchange, session: Session, request: Request, stream: LiveStream) -> None:
        """Send the answer once there is one; a client that disconnects before has cancelled its request."""
        tasks: TaskSet | None = None

        def leave(_: object) -> None:
            if not http.is_written:
                session.hung_up(request.id)

        def watch() -> None:
            nonlocal tasks
            if not http.started:
                tasks = TaskSet()
                http.disconnected(tasks).add_done_callback(leave)

        http.when_lost(lambda: session.answer_unread(request.id))
        watching = asyncio.get_running_loop().call_later(WATCH_AFTER, watch)
        try:
            was_read = await self._answer(http, stream)
            if not was_read:
                http.when_lost(None)
                leave(None)
                await session.wait_idle(self._hub.calls.interrupt_grace)
        finally:
            watching.cancel()
            if tasks is not None:
                await tasks.aclose()


def _resumed(session: HubSession, last_event_id: str) -> tuple[LiveStream, int]:
    name, _, number = last_event_id.partition(":")
    stream = session.channel.find_stream(name)
    if stream is None or not _NUMBER.fullmatch(number) or int(number) > stream.ring.last:
        return session.channel.standing, session.channel.standing.ring.last_read
    return stream, int(number)


class _Answer(msgspec.Struct):
    error: ErrorObject | None = None


def _status(frame: bytes, otherwise: int = 200) -> int:
    error = msgspec.json.decode(frame, type=_Answer).error
    return 200 if error is None else STATUS_OF.get(error.code, otherwise)
