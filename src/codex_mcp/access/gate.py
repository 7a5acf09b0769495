"""Pure. Which requests are let in: by the name they use for the server, the web page they come from, and their token.

Host            must be a name of this server; otherwise a page could reach it under its own name (DNS rebinding)
Origin          must be absent, our own, or an allowed origin; a page on another port has another origin
Sec-Fetch-Site  must be absent, `none` or `same-origin`, unless the origin is allowed: a browser sends a plain GET for
                another site without Origin, but never without this header
token           must belong to a principal, if the server requires tokens

The token file has one principal and one of its tokens per line. Two lines for one principal let it change its token
without an interruption:

    # comments and blank lines are skipped
    alice   s3cr3t-token
    bob     sha256:9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08
    carol   another-token   admin

The word `admin` lets a principal change the server for everyone (its sign-in, its default model). All lines of the
principal must have it, since a session does not depend on the token that opened it.
"""

from __future__ import annotations

import hashlib
import hmac
import re
from collections.abc import Iterator, Mapping
from typing import Final

from msgspec import Struct

from codex_mcp.base.principals import LOCAL

LOOPBACK: Final = frozenset({"localhost", "127.0.0.1", "::1", "[::1]"})

OWN_SITE: Final = frozenset({None, "none", "same-origin"})
"""Accepted values of Sec-Fetch-Site: not a browser, a person's own navigation, a page of this server."""

DEFAULT_PORTS: Final = {"http": ":80", "https": ":443"}

HOST: Final = re.compile(r"(\[[^\[\]]*\]|[^\[\]:,\s]*)(?::\d*)?")

DECISIVE_HEADERS: Final = ("host", "origin", "sec-fetch-site", "authorization")
"""Two requests with the same values get the same verdict."""

PRINCIPAL: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._@-]{0,63}")

MAX_SUBJECT_CHARS: Final = 1024
"""For the `sub` of a signed token: an e-mail address, `auth0|…`, a repository with its branch, a service account."""

HASHED: Final = "sha256:"

ADMIN: Final = "admin"

MIN_TOKEN_CHARS: Final = 16
"""Shorter tokens can be guessed; `openssl rand -hex 32` makes a good one."""

PERSONAL_UIDS: Final = range(1000, 60_000)
"""User ids that Linux distributions give to people."""

NO_LOGIN: Final = ("nologin", "false", "sync", "shutdown", "halt")

ADVICE: Final = "require a token with --generate-token or --tokens FILE"


class Admitted(Struct, frozen=True):
    principal: str
    expires: float | None = None
    """When the token expires, in seconds since 1970."""


class Rejected(Struct, frozen=True):
    """The request is refused. The text says what to do, and nothing about other principals."""

    status: int
    why: str


CROSS_SITE: Final = "Forbidden: pages of other sites may not use this server (Sec-Fetch-Site); see allowed_origins"
FOREIGN_PAGE: Final = "Forbidden: pages of this origin may not use this server; see allowed_origins"
NO_TOKEN: Final = Rejected(401, "Unauthorized: send the header Authorization: Bearer TOKEN")
UNKNOWN_TOKEN: Final = Rejected(401, "Unauthorized: unknown token")
INVALID_TOKEN: Final = Rejected(401, "Unauthorized: invalid token")
TOO_MANY_FAILURES: Final = Rejected(429, "Too Many Requests: too many invalid tokens; try again in a second")


class Gate(Struct, frozen=True):
    hosts: frozenset[str] = LOOPBACK
    origins: frozenset[str] = frozenset()
    """Other origins whose pages are allowed, as `https://host:port`."""
    tokens: dict[bytes, str] = {}
    """SHA-256 of a token → its principal."""

    def rejection(self, headers: Mapping[str, str]) -> Rejected | None:
        """Why this request is refused, whatever its token is."""
        if _host_name(headers.get("host", "")) not in self.hosts:
            return Rejected(421, "Misdirected Request: this server does not have that name (Host); see allowed_hosts")
        forbidden = forbidden_page(self.origins, headers)
        return Rejected(403, forbidden) if forbidden else None

    def principal(self, digest: bytes) -> Admitted | Rejected:
        found = None
        # Always compare all of them, so that the time taken does not tell which one was close.
        for known, principal in self.tokens.items():
            if hmac.compare_digest(known, digest):
                found = principal
        return UNKNOWN_TOKEN if found is None else Admitted(found)


def bearer_token(headers: Mapping[str, str]) -> str | None:
    scheme, _, token = headers.get("authorization", "").partition(" ")
    return token.strip() if scheme.lower() == "bearer" and token else None


def forbidden_page(origins: frozenset[str], headers: Mapping[str, str]) -> str:
    """Why the web page behind this request may not make it; empty if it may, or if there is no page."""
    origin = headers.get("origin")
    if origin is not None:
        if origin in origins:
            return ""
        if not _is_same_origin(origin, headers.get("host", "")):
            return FOREIGN_PAGE
    return "" if headers.get("sec-fetch-site") in OWN_SITE else CROSS_SITE


def _is_same_origin(origin: str, host: str) -> bool:
    """Whether the page comes from the requested address. Its scheme may be that of a proxy in front of the server."""
    scheme, separator, address = origin.lower().partition("://")
    port = DEFAULT_PORTS.get(scheme)
    if not separator or port is None or not address:
        return False
    return address.removesuffix(port) == host.lower().removesuffix(port)


def _host_name(host: str) -> str:
    """The name in a Host header in lower case, without its port; empty if the header is not a single name."""
    found = HOST.fullmatch(host)
    return "" if found is None else found[1].strip("[]").lower()


def _entries(text: str) -> Iterator[tuple[int, list[str]]]:
    """The lines with a token: their numbers and words."""
    for number, line in enumerate(text.splitlines(), 1):
        words = [] if line.lstrip().startswith("#") else line.split()
        if words:
            yield number, words


def administrators(text: str) -> frozenset[str]:
    """The principals of a token file that may administer the server."""
    named = [(words[0], words[2:] == [ADMIN]) for _, words in _entries(text)]
    return frozenset(name for name, _ in named) - {name for name, is_admin in named if not is_admin}


def parse_tokens(text: str) -> dict[bytes, str]:
    """SHA-256 of each token → its principal. Raises ValueError that names the line, never the token."""
    tokens: dict[bytes, str] = {}
    for number, words in _entries(text):
        if len(words) < 2 or words[2:] not in ([], [ADMIN]) or not PRINCIPAL.fullmatch(words[0]):
            raise ValueError(f"line {number} must be a principal's name and its token, and may end with {ADMIN}")
        if words[0] == LOCAL:
            raise ValueError(f"line {number} must not name {LOCAL}, which is the principal of clients without a token")
        digest = _digest(words[1], number)
        if tokens.get(digest, words[0]) != words[0]:
            raise ValueError(f"line {number} gives {words[0]} a token that another principal has")
        tokens[digest] = words[0]
    if not tokens:
        raise ValueError("it contains no token")
    return tokens


def _digest(token: str, number: int) -> bytes:
    if not token.startswith(HASHED):
        if len(token) < MIN_TOKEN_CHARS:
            raise ValueError(f"the token in line {number} is shorter than {MIN_TOKEN_CHARS} characters")
        return hashlib.sha256(token.encode()).digest()
    try:
        digest = bytes.fromhex(token.removeprefix(HASHED))
    except ValueError:
        digest = b""
    if len(digest) != hashlib.sha256().digest_size:
        raise ValueError(f"line {number} must have 64 hexadecimal digits after {HASHED}")
    return digest


def why_not_a_principal(subject: str) -> str:
    """What is wrong with the `sub` of a signed token, as the end of "the sub of this token …"; empty if nothing is."""
    if not subject:
        return "is empty"
    if len(subject) > MAX_SUBJECT_CHARS:
        return f"has {len(subject)} characters; the limit is {MAX_SUBJECT_CHARS}"
    if not subject.isprintable():
        return "contains unprintable characters"
    if subject == LOCAL:
        return f"is {LOCAL}, which is the principal of clients without a token"
    return ""


def people(passwd: str) -> dict[int, str]:
    """Accounts of people who can log in, from the text of /etc/passwd: user id → name."""
    found: dict[int, str] = {}
    for line in passwd.splitlines():
        fields = line.split(":")
        is_account = len(fields) == 7 and fields[2].isdigit() and int(fields[2]) in PERSONAL_UIDS
        if is_account and not fields[6].endswith(NO_LOGIN):
            found[int(fields[2])] = fields[0]
    return found


def warning_without_tokens(uid: int, passwd: str) -> str:
    """The warning for a server of this user that requires no token; empty if the machine has no other user."""
    if uid == 0:
        return (
            "this server runs as root and requires no token: every user and program on this machine can run commands "
            f"as root through it; {ADVICE}"
        )
    others = sorted(name for user, name in people(passwd).items() if user != uid)
    if not others:
        return ""
    return (
        f"this server requires no token: other users of this machine ({', '.join(others[:3])}"
        f"{', …' if len(others) > 3 else ''}) can run commands as you through it; {ADVICE}"
    )
