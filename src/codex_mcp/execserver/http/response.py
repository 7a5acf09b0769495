"""Pure. Parses an HTTP response incrementally: first the head, then pieces of the body."""

from __future__ import annotations

from typing import Final

import httptools

from codex_mcp.wire.exec.http import HttpHeader

MAX_HEAD_BYTES: Final = 256 * 1024
"""The longest head; limits a server that never ends it. Trailers and chunk extensions may have as much."""

WITHOUT_BODY: Final = frozenset({204, 304})


class InvalidResponse(Exception):
    """Not an HTTP response, or an incomplete one."""


class ResponseParser:
    """`feed` it bytes; `status`, `headers` and `take` return what has been parsed."""

    def __init__(self, method: str) -> None:
        self.status = 0
        """0 until the head is complete."""
        self.headers: list[HttpHeader] = []
        self.is_done = False
        self._is_head = method == "HEAD"
        self._pieces: list[bytes] = []
        self._head_bytes = 0
        self._beside_body = 0
        """Bytes in which there was no piece of the body, since the last one. The parser keeps them."""
        self._parser = httptools.HttpResponseParser(self)

    def feed(self, data: bytes) -> None:
        if self.is_done:
            return
        if not self.status:
            self._head_bytes += len(data)
        else:
            self._beside_body += len(data)
        try:
            self._parser.feed_data(data)
        except httptools.HttpParserError as exc:
            if not self.is_done:
                raise InvalidResponse(f"the response is not HTTP: {exc}") from None
        if not self.status and self._head_bytes > MAX_HEAD_BYTES:
            raise InvalidResponse(f"the head of the response is longer than {MAX_HEAD_BYTES} bytes")
        if self._beside_body > MAX_HEAD_BYTES:
            raise InvalidResponse(f"the trailers of the response are longer than {MAX_HEAD_BYTES} bytes")

    def end(self) -> None:
        """The connection ended. Raises InvalidResponse if something is missing."""
        if self.is_done:
            return
        has_length = self.header("content-length") is not None or self.header("transfer-encoding") is not None
        if not self.status or has_length:
            raise InvalidResponse("the connection ended before the response did")
        self.is_done = True

    def take(self) -> bytes:
        pieces, self._pieces = self._pieces, []
        return b"".join(pieces)

    def header(self, name: str) -> str | None:
        return next((header.value for header in self.headers if header.name == name), None)

    def on_message_begin(self) -> None:
        """Called by the parser, as are the following: a head begins, perhaps of an interim response (1xx)."""
        self.headers = []

    def on_header(self, name: bytes, value: bytes) -> None:
        if self.status:
            return  # a trailer
        self.headers.append(HttpHeader(name.decode("latin-1").lower(), value.decode("utf-8", "replace")))

    def on_headers_complete(self) -> None:
        status = self._parser.get_status_code()
        if status >= 200:
            self.status = status
            self.is_done = self._is_head or status in WITHOUT_BODY

    def on_body(self, body: bytes) -> None:
        self._beside_body = 0
        if self.status and not self.is_done:
            self._pieces.append(body)

    def on_message_complete(self) -> None:
        if self.status:
            self.is_done = True
