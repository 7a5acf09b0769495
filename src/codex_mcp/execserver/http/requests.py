"""`http/request`: makes HTTP requests from this machine for a client, and returns responses whole or as a stream.

Codex uses it for MCP servers over HTTP that are configured for an environment. Every request has its own TCP
connection. Requests end with the client's connection; while the client is too slow, nothing more is read.
"""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Final

from codex_mcp.base.tasks import TaskSet
from codex_mcp.execserver.envelope import SendMessage, encode_notification
from codex_mcp.execserver.errors import internal_error, invalid_params
from codex_mcp.execserver.http.hops import MAX_HOPS, Hop, first_hop, next_hop
from codex_mcp.execserver.http.response import InvalidResponse, ResponseParser
from codex_mcp.rpc.errors import RequestFailed
from codex_mcp.wire.exec.base64 import encode_base64
from codex_mcp.wire.exec.http import BodyDelta, HttpRequest, HttpResponse, RedirectPolicy

READ_BYTES: Final = 64 * 1024

MAX_BODY_BYTES: Final = 32 * 1024 * 1024
"""The largest body in one message; a larger one must be streamed."""

MAX_STREAMS: Final = 128
"""Open streams of one connection. An MCP server needs one or two."""

CONNECT_SECONDS: Final = 30.0


class HttpRequests:
    def __init__(self, send: SendMessage) -> None:
        self._send = send
        self._streams: dict[str, Exchange | None] = {}
        """By request id; None until the head of the response has arrived."""
        self._may_send = asyncio.Event()
        self._may_send.set()
        self._tasks = TaskSet()

    def __repr__(self) -> str:
        return f"<HttpRequests {len(self._streams)} streams>"

    async def request(self, asked: HttpRequest) -> HttpResponse:
        hop = first_hop(asked)
        if asked.stream_response:
            self._check_stream(asked.request_id)
            self._streams[asked.request_id] = None
        try:
            async with asyncio.timeout(None if asked.timeout_ms is None else asked.timeout_ms / 1000):
                exchange = await _request(hop, asked.redirect_policy)
                if asked.stream_response:
                    self._streams[asked.request_id] = exchange
                    self._tasks.spawn(self._stream(asked.request_id, exchange), name="http stream")
                    return exchange.response(b"")
                return exchange.response(await exchange.whole_body())
        except TimeoutError:
            raise _failed(hop, "timeout") from None
        except (OSError, InvalidResponse) as exc:
            raise _failed(hop, str(exc)) from None
        finally:
            if asked.stream_response and self._streams[asked.request_id] is None:
                del self._streams[asked.request_id]

    def set_full(self, *, is_full: bool) -> None:
        if is_full:
            self._may_send.clear()
        else:
            self._may_send.set()

    async def aclose(self) -> None:
        await self._tasks.aclose()
        for exchange in self._streams.values():
            if exchange is not None:
                exchange.close()

    def _check_stream(self, request_id: str) -> None:
        if request_id in self._streams:
            raise invalid_params(f"http/request streamResponse requestId `{request_id}` is already active")
        if len(self._streams) >= MAX_STREAMS:
            raise internal_error(f"http/request failed: {MAX_STREAMS} streams are open on this connection")

    async def _stream(self, request_id: str, exchange: Exchange) -> None:
        seq, error = 1, None
        try:
            async for piece in exchange.body():
                await self._may_send.wait()
                self._send_delta(BodyDelta(request_id, seq, encode_base64(piece), done=False, error=None))
                seq += 1
        except (OSError, InvalidResponse) as exc:
            error = f"failed to read http/request response body: {exc}"
        exchange.close()
        del self._streams[request_id]
        self._send_delta(BodyDelta(request_id, seq, "", done=True, error=error))

    def _send_delta(self, delta: BodyDelta) -> None:
        self._send(encode_notification("http/request/bodyDelta", delta))


class Exchange:
    """A request that was sent, and its response. Methods that read raise OSError or InvalidResponse."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, parser: ResponseParser) -> None:
        self._reader = reader
        self._writer = writer
        self.parser = parser

    def response(self, body: bytes) -> HttpResponse:
        return HttpResponse(self.parser.status, self.parser.headers, encode_base64(body))

    async def head(self) -> None:
        while not self.parser.status:
            await self._read()

    async def body(self) -> AsyncIterator[bytes]:
        while True:
            if piece := self.parser.take():
                yield piece
            elif self.parser.is_done:
                return
            else:
                await self._read()

    async def whole_body(self) -> bytes:
        pieces, size = [], 0
        try:
            async for piece in self.body():
                pieces.append(piece)
                size += len(piece)
                if size > MAX_BODY_BYTES:
                    raise InvalidResponse(f"the body is larger than {MAX_BODY_BYTES} bytes; use streamResponse")
        finally:
            self.close()
        return b"".join(pieces)

    def close(self) -> None:
        self._writer.transport.abort()

    async def _read(self) -> None:
        data = await self._reader.read(READ_BYTES)
        if data:
            self.parser.feed(data)
        else:
            self.parser.end()


async def _request(hop: Hop, policy: RedirectPolicy) -> Exchange:
    """Send the request and follow redirects; return when the head of the response has arrived."""
    for _ in range(MAX_HOPS + 1):
        async with _send(hop) as exchange:
            await exchange.head()
            location = exchange.parser.header("location")
            if policy is RedirectPolicy.STOP or location is None:
                return exchange
            following = next_hop(hop, exchange.parser.status, location)
            if following is None:
                return exchange
        exchange.close()
        hop = following
    raise InvalidResponse("too many redirects")


@asynccontextmanager
async def _send(hop: Hop) -> AsyncIterator[Exchange]:
    """A sent request; on an error, its connection is closed."""
    async with asyncio.timeout(CONNECT_SECONDS):
        tls = ssl.create_default_context() if hop.url.scheme == "https" else None
        reader, writer = await asyncio.open_connection(hop.host, hop.port, ssl=tls)
    exchange = Exchange(reader, writer, ResponseParser(hop.method))
    try:
        writer.write(hop.encode())
        yield exchange
    except BaseException:
        exchange.close()
        raise


def _failed(hop: Hop, why: str) -> RequestFailed:
    return internal_error(f"http/request failed: error sending request for url ({hop.url.geturl()}): {why}")
