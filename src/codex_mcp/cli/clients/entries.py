"""Pure. Entries of clients' files: their names, and the command lines in them."""

from __future__ import annotations

import re
import shlex
from collections.abc import Mapping, Sequence
from typing import Final

from msgspec import Struct

from codex_mcp.base.errors import Refused
from codex_mcp.cli.clients.config_text.values import at

NAME: Final = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_-]{0,63}")
"""What all clients accept as the name of a server."""


def checked_name(name: str) -> str:
    """Raises Refused."""
    if not NAME.fullmatch(name):
        raise Refused(f"cannot use --name {name!r}: use letters, digits, - and _, at most 64")
    return name


class Shape(Struct, frozen=True):
    """Where an entry has its command line. Clients differ, and people keep entries in older forms."""

    inside: tuple[str, ...] = ()
    program: str = "command"
    args: str | None = "args"
    """None: the words are a list, in the place of the program."""

    env: str = "env"

    def fields(self, words: Sequence[str]) -> dict[tuple[str, ...], object]:
        """What must stand where, below the entry, for this command line."""
        if self.args is None:
            return {(*self.inside, self.program): [*words]}
        return {(*self.inside, self.program): words[0], (*self.inside, self.args): [*words[1:]]}


ONE_LIST: Final = Shape(args=None, env="environment")
"""opencode: {"command": ["codex-mcp", "mcp-server"], "environment": {…}}."""

IN_COMMAND: Final = Shape(("command",), "path")
"""An old entry of Zed: {"command": {"path": …, "args": […]}}."""

IN_TRANSPORT: Final = Shape(("transport",))
"""As Cline's own command writes it: {"transport": {"type": "stdio", "command": …, "args": […]}}."""


def shape_of(entry: object) -> Shape:
    if isinstance(at(entry, ("transport",)), Mapping) and at(entry, ("command",)) is None:
        return IN_TRANSPORT
    match at(entry, ("command",)):
        case Mapping():
            return IN_COMMAND
        case list():
            return ONE_LIST
    return Shape()


def words_of(entry: object) -> list[str]:
    """The command line of an entry; empty if it has none."""
    shape = shape_of(entry)
    command = at(entry, (*shape.inside, shape.program))
    if isinstance(command, list):
        return [str(word) for word in command]
    args = at(entry, (*shape.inside, shape.args or ""))
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


def connection_of(entry: object) -> tuple[str, ...]:
    """Where an entry has its address and headers, or would have them."""
    return IN_TRANSPORT.inside if shape_of(entry) is IN_TRANSPORT else ()
