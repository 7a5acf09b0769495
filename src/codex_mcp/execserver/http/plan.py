"""Pure. What `http/request` asks for, as bytes to send to somebody; and where an answer sends it next.

    answer              the next request
    ------------------  ------------------------------------------------------------
    301, 302            the same; a POST becomes a GET without a body
    303                 a GET without a body, or a HEAD
    307, 308            the same
    any other           none: it is the answer

A request to another origin does not carry what was meant for the first one: credentials and cookies.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import Final
from urllib.parse import SplitResult, quote, urljoin, urlsplit

from codex_mcp.execserver.errors import invalid_params
from codex_mcp.wire.exec.base64 import BadBase64, decode_base64
from codex_mcp.wire.exec.http import HttpHeader, HttpRequest

MAX_HOPS: Final = 10
"""Redirects that are followed; the real server's library follows as many."""

TOKEN: Final = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
BAD_VALUE: Final = re.compile(r"[\x00-\x08\x0a-\x1f\x7f]")
URL_SAFE: Final = "/%:@!$&'()*+,;=~-._?[]"

OURS: Final = frozenset({"connection", "content-length", "expect", "te", "trailer", "transfer-encoding", "upgrade"})
"""Headers that say how the bytes travel, which is not for the client to say."""

PRIVATE: Final = frozenset({"authorization", "cookie", "cookie2", "proxy-authorization", "www-authenticate"})
ABOUT_BODY: Final = frozenset({"content-type", "content-encoding", "content-language", "content-location"})

WITH_BODY: Final = frozenset({"POST", "PUT", "PATCH"})
PORTS: Final = {"http": 80, "https": 443}


@dataclass(frozen=True, slots=True)
class Hop:
    """One request to one place."""

    method: str
    url: SplitResult
    headers: tuple[tuple[str, str], ...]
    body: bytes | None

    @property
    def is_encrypted(self) -> bool:
        """It goes over TLS."""
        return self.url.scheme == "https"

    @property
    def host(self) -> str:
        """Whom to connect to."""
        return self.url.hostname or ""

    @property
    def port(self) -> int:
        """And where."""
        return self.url.port or PORTS[self.url.scheme]

    @property
    def origin(self) -> tuple[str, str, int]:
        """Who gets what was meant for whom."""
        return self.url.scheme, self.host, self.port

    def encode(self) -> bytes:
        """The whole request."""
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
    """What the client wants. Raises RequestFailed."""
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
    """Where the answer sends the request, or None if it is to stay. Raises RequestFailed."""
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
        raise invalid_params("http/request url is invalid: it holds credentials; send them in a header")
    shown = f"[{host}]" if ":" in host else host
    return url._replace(netloc=shown if port is None else f"{shown}:{port}", fragment="")
