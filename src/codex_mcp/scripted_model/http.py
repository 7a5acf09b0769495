"""Pure. The part of HTTP/1.1 that a loopback model needs: parse one request, format an answer."""

from collections.abc import Mapping
from http import HTTPStatus

from msgspec import Struct

MAX_HEAD = 64 * 1024
"""Bytes of request line and headers. Codex sends about 2 kB; more than this is not HTTP."""

MAX_BODY = 256 * 1024 * 1024
"""Bytes of a body. Histories with images reach tens of megabytes; the limit only guards against mistakes."""

LAST_CHUNK = b"0\r\n\r\n"

_END_OF_HEAD = b"\r\n\r\n"


class BadHttp(ValueError):
    """An unreadable request; `status` is the answer to it."""

    def __init__(self, status: int, text: str) -> None:
        super().__init__(text)
        self.status = status


class HttpRequest(Struct, frozen=True):
    """One request. Header names are lower-case."""

    method: str
    path: str
    headers: Mapping[str, str]
    body: bytes


def take_request(buffer: bytearray) -> HttpRequest | None:
    """Remove the first complete request from the buffer; None if it is incomplete. Raises BadHttp."""
    end = buffer.find(_END_OF_HEAD)
    if end < 0:
        if len(buffer) > MAX_HEAD:
            raise BadHttp(431, f"cannot read the request: more than {MAX_HEAD} bytes of headers")
        return None
    method, path, headers = _head(bytes(buffer[:end]))
    start = end + len(_END_OF_HEAD)
    length = _length(headers)
    if len(buffer) < start + length:
        return None
    body = bytes(buffer[start : start + length])
    del buffer[: start + length]
    return HttpRequest(method, path, headers, body)


def head(status: int, headers: Mapping[str, str]) -> bytes:
    lines = [f"HTTP/1.1 {status} {_phrase(status)}", *(f"{key}: {value}" for key, value in headers.items())]
    return "\r\n".join([*lines, "", ""]).encode("latin-1", "replace")


def whole(status: int, body: bytes, headers: Mapping[str, str] | None = None) -> bytes:
    fields = {"content-type": "application/json", **(headers or {}), "content-length": str(len(body))}
    return head(status, fields) + body


def chunk(data: bytes) -> bytes:
    return b"%x\r\n%b\r\n" % (len(data), data)


def _head(data: bytes) -> tuple[str, str, dict[str, str]]:
    first, *lines = data.decode("latin-1").split("\r\n")
    words = first.split(" ")
    if len(words) != 3 or not words[2].startswith("HTTP/1."):
        raise BadHttp(400, f"cannot read the request line {first!r}")
    headers: dict[str, str] = {}
    for line in lines:
        key, colon, value = line.partition(":")
        if not colon:
            raise BadHttp(400, f"cannot read the header {line!r}")
        headers[key.strip().lower()] = value.strip()
    return words[0], words[1].partition("?")[0], headers


def _length(headers: Mapping[str, str]) -> int:
    if "transfer-encoding" in headers:
        raise BadHttp(411, "cannot read a chunked request: send content-length")
    text = headers.get("content-length", "0")
    if not (text.isascii() and text.isdigit()):
        raise BadHttp(400, f"cannot read content-length {text!r}")
    if int(text) > MAX_BODY:
        raise BadHttp(413, f"cannot take {text} bytes: at most {MAX_BODY}")
    return int(text)


def _phrase(status: int) -> str:
    try:
        return HTTPStatus(status).phrase
    except ValueError:
        return "Unknown"
