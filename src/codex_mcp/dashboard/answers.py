"""Pure. The end of a request: an answer, from wherever it is found."""

from __future__ import annotations

from typing import Final, TypeAlias

Header: TypeAlias = tuple[bytes, bytes]

HTML: Final = (b"content-type", b"text/html; charset=utf-8")


class Answer(Exception):
    """Ends the request with this answer."""

    def __init__(self, status: int, body: bytes = b"", *headers: Header) -> None:
        super().__init__(status)
        self.status = status
        self.body = body
        self.headers = headers


def see(path: str, *headers: Header) -> Answer:
    """The browser goes on to this page."""
    return Answer(303, b"", (b"location", path.encode("ascii", "ignore")), *headers)
