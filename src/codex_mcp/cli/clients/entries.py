"""Pure. Entries of clients' files: their names, and the command lines in them."""

from __future__ import annotations

import re
import shlex
from collections.abc import Mapping
from typing import Final

from codex_mcp.base.errors import Refused

NAME: Final = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_-]{0,63}")
"""What all clients accept as the name of a server."""


def checked_name(name: str) -> str:
    """Raises Refused."""
    if not NAME.fullmatch(name):
        raise Refused(f"cannot use --name {name!r}: use letters, digits, - and _, at most 64")
    return name


def words_of(entry: object) -> list[str]:
    """The command line of an entry; empty if it has none."""
    if not isinstance(entry, Mapping):
        return []
    inner = entry.get("command")
    if isinstance(inner, Mapping):  # an old entry of Zed: {"command": {"path": …, "args": […]}}
        return words_of({"command": inner.get("path"), "args": inner.get("args")})
    command, args = inner, entry.get("args")
    if not isinstance(command, str):
        return []
    if isinstance(args, str):  # no client takes it, but people write it
        return [command, *_split(args)]
    return [command, *(str(arg) for arg in args)] if isinstance(args, list) else [command]


def _split(text: str) -> list[str]:
    try:
        return shlex.split(text)
    except ValueError:
        return text.split()


def is_address(entry: object) -> bool:
    return isinstance(entry, Mapping) and not words_of(entry) and ("url" in entry or "httpUrl" in entry)
