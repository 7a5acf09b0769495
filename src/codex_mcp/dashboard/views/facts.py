"""Pure. What a page is made of: agents and questions as the servers tell them, and servers that cannot be reached."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import msgspec
from msgspec import Struct

from codex_mcp.base.printable import one_line
from codex_mcp.base.timestamps import parse_timestamp
from codex_mcp.control.asked import Asked


class RunBy(Struct, frozen=True):
    node: str = ""
    pid: int = 0


class AgentFacts(Struct, frozen=True, kw_only=True):
    """An agent: its record, and if a server runs it, what it does. Times are seconds since 1970."""

    codex_id: str
    identity: str
    team: str = ""
    principal: str = "local"
    cwd: str = ""
    branch: str | None = None
    repo_name: str | None = None
    worktree: str | None = None
    role: str | None = None
    tag: str | None = None
    thread_id: str | None = None
    status: str = "active"
    thread_state: str = "idle"
    last_active: str = ""
    turns: int = 0
    tokens: int = 0
    last_error: str | None = None
    closing: bool = False
    owner: RunBy | None = None
    task: str = ""
    doing: str = ""
    said: str = ""
    since: float | None = None
    heard: float | None = None
    waiting: int = 0
    added: int = 0
    removed: int = 0
    mail: int = 0
    held_mail: int = 0
    paused: str = ""
    paused_until: float | None = None

    @property
    def node(self) -> str:
        return self.owner.node if self.owner is not None else ""

    @property
    def title(self) -> str:
        """The first line of what it was asked last."""
        return one_line(self.task.strip().partition("\n")[0])

    @property
    def used_at(self) -> float:
        try:
            return parse_timestamp(self.last_active)
        except ValueError:
            return 0.0

    @property
    def is_busy(self) -> bool:
        return self.status == "active" and self.thread_state == "busy"


class Silent(Struct, frozen=True):
    """A living server that cannot be reached, and why, in a sentence."""

    node: str
    why: str


class FleetFacts(Struct, frozen=True):
    """All that is known at one moment."""

    agents: Sequence[AgentFacts] = ()
    asked: Sequence[Asked] = ()
    answered: Sequence[Asked] = ()
    """Closed questions, the newest first."""
    silent: Sequence[Silent] = ()
    servers: int = 0
    """Living ones."""
    teams: Sequence[str] = ()

    def silent_node(self, node: str) -> Silent | None:
        return next((each for each in self.silent if each.node == node), None)


def agent_facts(row: Mapping[str, object]) -> AgentFacts | None:
    """The agent of a row; None if it cannot be read, for instance that of a later version."""
    try:
        return msgspec.convert({name: value for name, value in row.items() if value is not None}, AgentFacts)
    except msgspec.ValidationError:
        return None
