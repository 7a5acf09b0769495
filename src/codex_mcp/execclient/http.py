"""HTTP requests that the server's machine makes for us (`http/request`).

A streamed body belongs to the connection that began it: when that breaks, its reader gets BodyLost at once, because the
bytes that are missing cannot be fetched again. A request is never repeated.
"""

from __future__ import annotations

import contextlib
import uuid
from collections.abc import AsyncIterator, Mapping
from typing import Final

from msgspec import Struct

from codex_mcp.base.printable import foreign
from codex_mcp.execclient.errors import BodyLost, ExecServerError
from codex_mcp.execclient.flow import UNREAD_BYTES, Flow
from codex_mcp.execclient.link import Link, outcome_unknown
from codex_mcp.execclient.unread import Unread
from codex_mcp.rpc.errors import ConnectionLost
from codex_mcp.wire.exec.base64 import BadBase64, decode_base64, encode_base64
from codex_mcp.wire.exec.http import BodyDelta, HttpHeader, HttpRequest, HttpResponse, RedirectPolicy

METHOD: Final = "http/request"


class HttpOptions(Struct, frozen=True):
    """What a request has besides its method and its address."""

    headers: Mapping[str, str] = {}
    body: bytes | None = None
    timeout: float | None = None
    """Seconds until the answer; for a streamed one, until its head."""
    redirects: RedirectPolicy = RedirectPolicy.FOLLOW


NO_OPTIONS: Final = HttpOptions()


class HttpAnswer(Struct, frozen=True):
    status: int
    headers: list[HttpHeader]
    body: bytes


class HttpBody:
    """A body that is streamed: iterate over it once. Raises BodyLost."""

    def __init__(self, url: str, flow: Flow) -> None:
        self._url = url
        self._next_seq = 1
        self._pieces: Unread[bytes] = Unread(flow)

    def __aiter__(self) -> AsyncIterator[bytes]:
        return self._pieces.read()

    def received(self, delta: BodyDelta) -> None:
        try:
            piece = decode_base64(delta.delta_base64)
        except BadBase64 as exc:
            return self.fail(f"a piece of it cannot be read: {exc}")
        if delta.seq != self._next_seq:
            return self.fail(f"piece {self._next_seq} of it is missing")
        if delta.error is not None:
            return self.fail(foreign(delta.error))
        self._next_seq += 1
        if piece:
            self._pieces.add(piece, len(piece))
        if delta.done:
            self._pieces.end()
        if self._pieces.is_too_much:
            self.fail(f"more than {UNREAD_BYTES} bytes of it are unread; iterate over the body")
        return None

    def fail(self, why: str) -> None:
        """Nothing more will come. What has come can still be read."""
        self._pieces.end(BodyLost(f"cannot read the rest of the answer of {foreign(self._url)}: {why}"))

    def drop(self) -> None:
        """Nobody reads it any longer."""
        self._pieces.drop()


class HttpStream(Struct, frozen=True):
    """The head of an answer, and its body."""

    status: int
    headers: list[HttpHeader]
    body: HttpBody


class RemoteHttp:
    def __init__(self, link: Link) -> None:
        self._link = link
        self._bodies: dict[str, HttpBody] = {}

    async def request(self, method: str, url: str, options: HttpOptions = NO_OPTIONS) -> HttpAnswer:
        """The whole answer. Raises RequestRefused, SessionLost, or OutcomeUnknown if the connection broke."""
        answer = await self._link.call(METHOD, _asked(method, url, options, is_streamed=False), HttpResponse)
        return HttpAnswer(answer.status, answer.headers, _decoded(answer.body_base64))

    @contextlib.asynccontextmanager
    async def stream(self, method: str, url: str, options: HttpOptions = NO_OPTIONS) -> AsyncIterator[HttpStream]:
        """The answer as soon as its head is there; its body follows. Raises as `request`."""
        asked = _asked(method, url, options, is_streamed=True)
        connection = await self._link.current()
        # Before the answer, because pieces may overtake it; after the wait, because the body belongs to a connection.
        body = self._bodies[asked.request_id] = HttpBody(url, self._link.flow)
        try:
            answer = await connection.call(METHOD, asked, HttpResponse)
            yield HttpStream(answer.status, answer.headers, body)
        except ConnectionLost as exc:
            raise outcome_unknown(METHOD) from exc
        finally:
            del self._bodies[asked.request_id]
            body.drop()

    def delta_received(self, delta: BodyDelta) -> None:
        """A piece of a body, perhaps of one that nobody reads any longer."""
        body = self._bodies.get(delta.request_id)
        if body is not None:
            body.received(delta)

    def connection_lost(self) -> None:
        for body in self._bodies.values():
            body.fail("the connection to the exec-server broke")


def _asked(method: str, url: str, options: HttpOptions, *, is_streamed: bool) -> HttpRequest:
    return HttpRequest(
        method=method,
        url=url,
        request_id=uuid.uuid4().hex,
        headers=[HttpHeader(name, value) for name, value in options.headers.items()],
        body_base64=None if options.body is None else encode_base64(options.body),
        timeout_ms=None if options.timeout is None else round(options.timeout * 1000),
        redirect_policy=options.redirects,
        stream_response=is_streamed,
    )


def _decoded(text: str) -> bytes:
    try:
        return decode_base64(text)
    except BadBase64 as exc:
        raise ExecServerError(f"cannot read the exec-server's answer to {METHOD}: {exc}") from exc
