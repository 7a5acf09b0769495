"""Pure. A server in a client's configuration file, or a file that cannot be read."""

from __future__ import annotations

import posixpath
from collections.abc import Mapping

from msgspec import Struct

from codex_mcp.cli.clients.recognition.servers import Ours, Verdict


class Entry(Struct, frozen=True):
    """A server in a client's configuration file."""

    client: str
    file: str
    name: str
    words: tuple[str, ...]
    """Command and arguments; empty for a server at an address."""
    is_program_there: bool = True
    timeout: float | None = None
    """Seconds after which the client gives up on a call, if the entry says so."""
    starts: Verdict | None = None
    scope: str = ""
    """`user`, `project`, `local`, or `plugin`: a plugin of the client brings it."""
    path: tuple[str, ...] = ()
    """Where the entry is in the file."""
    env: Mapping[str, str] = {}
    """Variables that the client sets for it."""
    url: str | None = None
    """The address of a server that runs already."""
    is_recorded: bool = False
    """`install` wrote this address."""

    @property
    def project(self) -> str | None:
        """Of an entry that Claude Code keeps for one project in the user's file."""
        return self.path[1] if self.path[:1] == ("projects",) else None

    @property
    def is_of_plugin(self) -> bool:
        return self.scope == "plugin"

    @property
    def program(self) -> str:
        """The word whose program must be there."""
        starts = self.starts if isinstance(self.starts, Ours) else Ours()
        if starts.start is None and posixpath.isabs(starts.program):  # in a text for a shell
            return starts.program
        return self.words[starts.start or 0] if self.words else ""


class UnreadableFile(Struct, frozen=True):
    client: str
    file: str
    why: str
