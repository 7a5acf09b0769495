"""Pure. The answer to an HTTP request, read from its bytes as they come: first the head, then pieces of the body."""

from __future__ import annotations

from typing import Final

import httptools

from codex_mcp.wire.exec.http import HttpHeader

MAX_HEAD_BYTES: Final = 256 * 1024
"""The longest head; more is somebody who never ends."""

WITHOUT_BODY: Final = frozenset({204, 304})


class BrokenAnswer(Exception):
    """What came is no answer, or not all of it."""


class Answer:
    """Feed it bytes; look at what it knows."""

    def __init__(self, method: str) -> None:
        self.status = 0
        """0 until the head is whole."""
        self.headers: list[HttpHeader] = []
        self.is_done = False
        self._is_head = method == "HEAD"
        self._pieces: list[bytes] = []
        self._head_bytes = 0
        self._parser = httptools.HttpResponseParser(self)

    def feed(self, data: bytes) -> None:
        """Bytes came. Raises BrokenAnswer."""
        if self.is_done:
            return
        if not self.status:
            self._head_bytes += len(data)
        try:
            self._parser.feed_data(data)
        except httptools.HttpParserError as exc:
            if not self.is_done:
                raise BrokenAnswer(f"the answer is no HTTP: {exc}") from None
        if not self.status and self._head_bytes > MAX_HEAD_BYTES:
            raise BrokenAnswer(f"the head of the answer is longer than {MAX_HEAD_BYTES} bytes")

    def end(self) -> None:
        """Nothing more will come. Raises BrokenAnswer if something is missing."""
        if self.is_done:
            return
        if not self.status or self._has_length():
            raise BrokenAnswer("the connection ended before the answer did")
        self.is_done = True

    def take(self) -> bytes:
        """What came of the body since the last time."""
        pieces, self._pieces = self._pieces, []
        return b"".join(pieces)

    def header(self, name: str) -> str | None:
        """The first header of this name."""
        return next((header.value for header in self.headers if header.name == name), None)

    def _has_length(self) -> bool:
        return self.header("content-length") is not None or self.header("transfer-encoding") is not None

    # What the parser calls.

    def on_message_begin(self) -> None:
        """A head begins: of the answer, or of a word before it."""
        self.headers = []

    def on_header(self, name: bytes, value: bytes) -> None:
        """One header, with its name in small letters."""
        self.headers.append(HttpHeader(name.decode("latin-1").lower(), value.decode("utf-8", "replace")))

    def on_headers_complete(self) -> None:
        """The head is whole."""
        status = self._parser.get_status_code()
        if status >= 200:
            self.status = status
            self.is_done = self._is_head or status in WITHOUT_BODY

    def on_body(self, body: bytes) -> None:
        """A piece of the body."""
        if self.status and not self.is_done:
            self._pieces.append(body)

    def on_message_complete(self) -> None:
        """It is whole, unless it was a word before."""
        if self.status:
            self.is_done = True
