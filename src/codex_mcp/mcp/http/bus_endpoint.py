"""`/`: the bus. Any session id finds or creates its session, and every message of it goes to all its listeners.

    POST    a request         its answer as JSON, however long it takes; with `X-MCP-POST-STREAM: 1`, every message of
                              the session as a stream until the answer
            anything else     204
    GET     every message of the session from now on, for any number of listeners
    DELETE  ends the session

Not for clients that follow the specification, which would mistake messages for other clients as their own. They use
`/mcp`.
"""

from __future__ import annotations

import string
from typing import Final
from uuid import uuid4

from codex_mcp.base.settings.http import HttpSettings
from codex_mcp.mcp.http.channel import InboxFull
from codex_mcp.mcp.http.endpoint import (
    RETRY_LATER,
    Refusal,
    answer_json,
    read_message,
    refusal,
)
from codex_mcp.mcp.http.hub import Hub, HubSession, TooManySessions
from codex_mcp.transports.http import Header, HttpExchange
from codex_mcp.transports.streams.sse import StreamStyle, stream_out
from codex_mcp.wire.jsonrpc import INVALID_REQUEST, ErrorObject, Id, Message, Request

SESSION_HEADER: Final = "mcp-session-id"
POST_STREAM_HEADER: Final = "x-mcp-post-stream"

MAX_ID_CHARS: Final = 1024
ID_CHARS: Final = frozenset(string.ascii_letters + string.digits + string.punctuation)
"""Visible ASCII, as the specification requires."""


class BusEndpoint:
    def __init__(self, hub: Hub, settings: HttpSettings) -> None:
        self._hub = hub
        self._settings = settings

    async def serve(self, http: HttpExchange, principal: str) -> None:
        session_id = http.headers.get(SESSION_HEADER)
        if session_id is None and not self._settings.strict_sessions:
            session_id = str(uuid4())
        if session_id is not None and is_session_id(session_id):
            tell_session(http, session_id)  # with every answer, even if the request is refused
        match http.method:
            case "POST":
                message = await read_message(http, self._settings.max_body_bytes)
                posted = self.post_message(http, self.session(session_id, principal, http.client), message)
                del message  # it may have megabytes, and is not needed while its request runs
                await posted
            case "GET":
                await self._listen(http, self.session(session_id, principal, http.client))
            case "DELETE":
                await self._hub.close(self.session(session_id, principal, http.client))
                await http.respond(204)
            case _:
                raise refusal(405, "Method Not Allowed: use POST, GET or DELETE", (b"allow", b"POST, GET, DELETE"))

    def session(self, session_id: str | None, principal: str, address: str) -> HubSession:
        if session_id is not None and not is_session_id(session_id):
            raise refusal(400, f"Bad Request: mcp-session-id must be 1 to {MAX_ID_CHARS} visible ASCII characters")
        try:
            found = None if session_id is None else self._hub.find(principal, session_id, address)
            if found is not None:
                return found
            if session_id is not None and self._settings.strict_sessions:
                raise refusal(404, "Not Found: there is no such session")
            return self._hub.make(principal, session_id or str(uuid4()), address)
        except TooManySessions as exc:
            raise too_many(exc) from None

    async def get(self, http: HttpExchange, principal: str) -> None:
        await self._listen(http, self.session(http.headers.get(SESSION_HEADER), principal, http.client))

    async def _listen(self, http: HttpExchange, session: HubSession) -> None:
        tell_session(http, session.id)
        subscriber = session.channel.subscribe()
        try:
            await stream_out(http, subscriber, 0, StreamStyle(self._settings.ping_interval))
        finally:
            session.channel.unsubscribe(subscriber)

    async def post_message(self, http: HttpExchange, session: HubSession, message: Message) -> None:
        tell_session(http, session.id)
        if not isinstance(message, Request):
            deliver(session, message)
            await http.respond(204)
            return
        request_id = message.id
        answer = session.channel.expect(request_id, answer_only=True)
        if answer is None:
            raise Refusal(400, ErrorObject(INVALID_REQUEST, "a request with this id is still running"), request_id)
        if http.headers.get(POST_STREAM_HEADER, "").strip() != "1":
            answer.add_reader()
            http.when_lost(lambda: _hung_up(session, request_id))
            deliver(session, message)
            del message
            await answer_json(http, answer)
            return
        subscriber = session.channel.subscribe()
        # Listeners get the answer before it ends its own stream, so the subscriber then has everything.
        answer.when_ended(subscriber.end)
        try:
            deliver(session, message)
            del message
            await stream_out(http, subscriber, 0, StreamStyle(self._settings.ping_interval))
        finally:
            session.channel.unsubscribe(subscriber)


def _hung_up(session: HubSession, request_id: Id) -> None:
    """The client that asked is gone, but listeners of its session get the answer too."""
    if not session.channel.subscribers:
        session.session.answer_unread(request_id)


def too_many(why: TooManySessions) -> Refusal:
    return refusal(503, f"Service Unavailable: {why}; end one with DELETE, or try again later", RETRY_LATER)


def is_session_id(text: str) -> bool:
    return 0 < len(text) <= MAX_ID_CHARS and ID_CHARS.issuperset(text)


def tell_session(http: HttpExchange, session_id: str) -> None:
    header = (SESSION_HEADER.encode(), session_id.encode())
    if header not in http.extra_headers:
        http.extra_headers.append(header)


def sent_with(session: HubSession) -> Header:
    return (SESSION_HEADER.encode(), session.id.encode())


def deliver(session: HubSession, message: Message) -> None:
    try:
        session.channel.deliver(message)
    except InboxFull:
        if isinstance(message, Request):
            session.channel.forget(message.id)
        raise refusal(
            503, "Service Unavailable: too many messages of this session are waiting; try again later", RETRY_LATER
        ) from None
