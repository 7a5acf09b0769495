"""Pure. Turns an `http/request` into the bytes to send, and decides on redirects.

    status              the next request
    ------------------  ------------------------------------------------------------
    301, 302            the same; a POST becomes a GET without a body
    303                 a GET without a body; a HEAD stays a HEAD
    307, 308            the same
    any other           none

A redirect to another origin does not carry credentials and cookies.
"""

from __future__ import annotations

import re
from typing import Final
from urllib.parse import SplitResult, quote, urljoin, urlsplit

from msgspec import Struct
from msgspec.structs import replace

from codex_mcp.execserver.errors import invalid_params
from codex_mcp.wire.exec.base64 import BadBase64, decode_base64
from codex_mcp.wire.exec.http import HttpHeader, HttpRequest

MAX_HOPS: Final = 10
"""Redirects that are followed, as many as in the real server."""

TOKEN: Final = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
BAD_VALUE: Final = re.compile(r"[\x00-\x08\x0a-\x1f\x7f]")
URL_SAFE: Final = "/%:@!$&'()*+,;=~-._?[]"

OURS: Final = frozenset({"connection", "content-length", "expect", "te", "trailer", "transfer-encoding", "upgrade"})
"""Headers about the transfer, which the client cannot set."""

PRIVATE: Final = frozenset({"authorization", "cookie", "cookie2", "proxy-authorization", "www-authenticate"})
ABOUT_BODY: Final = frozenset({"content-type", "content-encoding", "content-language", "content-location"})

WITH_BODY: Final = frozenset({"POST", "PUT", "PATCH"})
PORTS: Final = {"http": 80, "https": 443}


class Hop(Struct, frozen=True):
    method: str
    url: SplitResult
    headers: tuple[tuple[str, str], ...]
    body: bytes | None

    @property
    def host(self) -> str:
        return self.url.hostname or ""

    @property
    def port(self) -> int:
        return self.url.port or PORTS[self.url.scheme]

    @property
    def origin(self) -> tuple[str, str, int]:
        return self.url.scheme, self.host, self.port

    def encode(self) -> bytes:
        target = quote(self.url.path or "/", safe=URL_SAFE)
        if self.url.query:
            target += "?" + quote(self.url.query, safe=URL_SAFE)
        named = {name.lower() for name, _ in self.headers}
        lines = [f"{self.method} {target} HTTP/1.1"]
        if "host" not in named:
            lines.append(f"host: {self.url.netloc}")
        if "accept" not in named:
            lines.append("accept: */*")
        lines += [f"{name}: {value}" for name, value in self.headers]
        if self.body is not None or self.method in WITH_BODY:
            lines.append(f"content-length: {len(self.body or b'')}")
        lines += ["connection: close", "", ""]
        return "\r\n".join(lines).encode() + (self.body or b"")


def first_hop(asked: HttpRequest) -> Hop:
    """The request that the client asks for. Raises RequestFailed."""
    if not TOKEN.fullmatch(asked.method):
        raise invalid_params("http/request method is invalid: invalid HTTP method")
    try:
        body = None if asked.body_base64 is None else decode_base64(asked.body_base64)
    except BadBase64 as exc:
        raise invalid_params(str(exc)) from None
    headers = tuple((header.name, header.value) for header in map(_checked, asked.headers))
    kept = tuple((name, value) for name, value in headers if name.lower() not in OURS)
    return Hop(asked.method, _url(asked.url), kept, body)


def next_hop(hop: Hop, status: int, location: str) -> Hop | None:
    """The request after a redirect, or None. Raises RequestFailed."""
    if status not in (301, 302, 303, 307, 308):
        return None
    url = _url(urljoin(hop.url.geturl(), location))
    method, body, dropped = hop.method, hop.body, frozenset[str]()
    if status == 303 or (status in (301, 302) and method == "POST"):
        method, body, dropped = ("HEAD" if method == "HEAD" else "GET"), None, ABOUT_BODY
    moved = replace(hop, method=method, url=url, body=body)
    if moved.origin != hop.origin:
        dropped |= PRIVATE | {"host"}
    kept = tuple((name, value) for name, value in hop.headers if name.lower() not in dropped)
    return replace(moved, headers=kept)


def _checked(header: HttpHeader) -> HttpHeader:
    if header.value_env_var is not None:
        text = f"http/request header {header.name} cannot use executor environment variable {header.value_env_var}"
        raise invalid_params(text)
    if not TOKEN.fullmatch(header.name):
        raise invalid_params("http/request header name is invalid: invalid HTTP header name")
    if BAD_VALUE.search(header.value):
        raise invalid_params("http/request header value is invalid: failed to parse header value")
    return header


def _url(text: str) -> SplitResult:
    try:
        url = urlsplit(text)
        port = url.port
        host = (url.hostname or "").encode("idna" if not (url.hostname or "").isascii() else "ascii").decode()
    except (ValueError, UnicodeError) as exc:
        raise invalid_params(f"http/request url is invalid: {exc}") from None
    if url.scheme not in PORTS:
        raise invalid_params(f"http/request only supports http and https URLs, got {url.scheme}")
    if not host or BAD_VALUE.search(text) or " " in url.netloc:
        raise invalid_params("http/request url is invalid: empty host")
    if "@" in url.netloc:
        raise invalid_params("http/request url is invalid: it contains credentials; send them in a header")
    shown = f"[{host}]" if ":" in host else host
    return url._replace(netloc=shown if port is None else f"{shown}:{port}", fragment="")
