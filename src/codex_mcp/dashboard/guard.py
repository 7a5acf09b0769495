"""Pure. Which requests the pages serve, and the headers of every answer."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final
from urllib.parse import parse_qs

from codex_mcp.access.gate import FOREIGN_PAGE, Gate, Rejected
from codex_mcp.base.errors import Refused
from codex_mcp.dashboard.views.forms import Posted

CSP: Final = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; form-action 'self'; "
    "base-uri 'none'; frame-ancestors 'none'; manifest-src 'self'; require-trusted-types-for 'script'; "
    "trusted-types ui"
)

HEADERS: Final = (
    (b"content-security-policy", CSP.encode()),
    (b"x-content-type-options", b"nosniff"),
    (b"referrer-policy", b"no-referrer"),
    (b"cross-origin-opener-policy", b"same-origin"),
    (b"cross-origin-resource-policy", b"same-origin"),
)

NOT_STORED: Final = (b"cache-control", b"no-store")
FOR_EVER: Final = (b"cache-control", b"public, max-age=31536000, immutable")

MOST_FIELDS: Final = 1000

THEMES: Final = ("light", "dark")
THEME_COOKIE: Final = "codex_mcp_theme"


def rejection(gate: Gate, method: str, headers: Mapping[str, str]) -> Rejected | None:
    """Why a request is refused, whoever is signed in.

    Our pages send no referrer, so browsers send `Origin: null` with their forms. Sec-Fetch-Site, which no page can set,
    then says where a form came from.
    """
    is_own = headers.get("sec-fetch-site") == "same-origin"
    seen = {name: value for name, value in headers.items() if not (is_own and (name, value) == ("origin", "null"))}
    refused = gate.rejection(seen)
    if refused is None and method != "GET" and not is_own and "origin" not in seen:
        return Rejected(403, FOREIGN_PAGE)
    return refused


def is_arrival(method: str, headers: Mapping[str, str]) -> bool:
    """A person followed a link on another site: they are shown a page that needs no session."""
    return (
        method == "GET"
        and headers.get("sec-fetch-site") not in (None, "none", "same-origin")
        and headers.get("sec-fetch-mode") == "navigate"
        and headers.get("sec-fetch-dest") == "document"
    )


def cookies(headers: Mapping[str, str]) -> dict[str, str]:
    pairs = (each.strip().partition("=") for each in headers.get("cookie", "").split(";"))
    return {name: value for name, _, value in pairs if name}


def cookie(name: str, value: str, *, path: str = "/ui", secure: bool = False) -> tuple[bytes, bytes]:
    parts = [f"{name}={value}", f"Path={path}", "HttpOnly", "SameSite=Strict", *(["Secure"] if secure else [])]
    if not value:
        parts.append("Max-Age=0")
    return b"set-cookie", "; ".join(parts).encode()


def posted(body: bytes) -> Posted:
    """The fields of a form. Raises Refused."""
    try:
        return parse_qs(body.decode(), keep_blank_values=True, max_num_fields=MOST_FIELDS)
    except ValueError:
        raise Refused("this form cannot be read") from None


def query(text: bytes) -> dict[str, str]:
    """The first value of each field of an address."""
    try:
        return {name: values[0] for name, values in parse_qs(text.decode(), max_num_fields=20).items()}
    except ValueError:
        return {}


def wants_json(headers: Mapping[str, str]) -> bool:
    return "application/json" in headers.get("accept", "")
