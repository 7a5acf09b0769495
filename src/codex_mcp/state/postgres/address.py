"""Pure. The address of a database (`--state postgresql://…`): whether it may be used, and how it is shown."""

from __future__ import annotations

from typing import Final
from urllib.parse import parse_qs, urlsplit

from codex_mcp.access.loopback import is_loopback
from codex_mcp.base.errors import Notice

SCHEMES: Final = ("postgresql", "postgres")

ENCRYPTED: Final = frozenset({"require", "verify-ca", "verify-full"})
"""Of sslmode. The others also take a connection that anybody on the way can read and change."""


def problem_with(dsn: str) -> Notice | None:
    """Why this address cannot be used, and what to do; None if it can."""
    try:
        parts = urlsplit(dsn)
        hosts = _hosts(dsn)
        options = parse_qs(parts.query, strict_parsing=bool(parts.query))
    except ValueError:
        return Notice("it must be an address such as postgresql://USER@HOST:5432/DATABASE")
    if parts.scheme not in SCHEMES:
        return Notice("it must begin with postgresql://")
    if "service" in options:
        return Notice("a service file may lead to any host", "name the host in the address")
    hosts += [host for value in options.get("host", []) for host in value.split(",")]
    if "" in hosts and not options.get("host"):
        fix = "name the host in it, such as localhost, or ?host=/run/postgresql"
        return Notice("variables may name any host (PGHOST)", fix)
    far = [host for host in hosts if host and not host.startswith("/") and not is_loopback(host)]
    if far and not ENCRYPTED.intersection(options.get("sslmode", [])):
        fix = "add ?sslmode=verify-full (or require) to the address"
        return Notice(f"the connection to {far[0]} must be encrypted", fix)
    return None


def names_schema(dsn: str) -> bool:
    """Whether it says where the tables are (`search_path`)."""
    return "search_path" in parse_qs(urlsplit(dsn).query)


def shown(dsn: str) -> str:
    """The address without a password and options."""
    try:
        parts = urlsplit(dsn)
        return f"postgresql://{parts.netloc.rpartition('@')[2] or 'localhost'}{parts.path}"
    except ValueError:
        return "postgresql://…"


def _hosts(dsn: str) -> list[str]:
    """The hosts of an address; it may name several, each with a port. Raises ValueError."""
    places = urlsplit(dsn).netloc.rpartition("@")[2].split(",")
    return [urlsplit(f"//{place}").hostname or "" for place in places]
