"""Pure. What a page is made of: agents and questions as the servers tell them, and servers that cannot be reached."""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Mapping, Sequence
from typing import TypeVar

import msgspec
from msgspec import Struct

from codex_mcp.base.printable import one_line
from codex_mcp.base.timestamps import parse_timestamp
from codex_mcp.control.asked import Asked
from codex_mcp.team.records.audit_entry import AuditEntry
from codex_mcp.wire.control_agents import LiveRow
from codex_mcp.wire.control_mail import LetterFacts


class RunBy(Struct, frozen=True):
    node: str = ""
    pid: int = 0


class AgentFacts(LiveRow, frozen=True, kw_only=True):
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
    owner: RunBy | None = None
    cost: float = 0.0

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


class EnvironmentFacts(Struct, frozen=True, kw_only=True):
    """A place where commands run, as one server has it."""

    key: str
    name: str
    url: str = ""
    is_relayed: bool = False
    state: str = ""
    since: float | None = None
    why: str = ""
    agents: int = 0

    @property
    def node(self) -> str:
        return self.key.rpartition("/")[0]


class CoreFacts(Struct, frozen=True):
    """The Codex of a server."""

    pid: int | None = None
    version: str = ""
    starts: int = 0
    last_exit: str = ""
    last_exit_at: float | None = None


class Window(Struct, frozen=True):
    """A rate limit of an account."""

    used_percent: float = 0.0
    window_minutes: int | None = None
    resets_at: float | None = None


class AccountFacts(Struct, frozen=True):
    is_limited: bool = False
    paused_until: float | None = None
    windows: Sequence[Window] = ()


class ServerFacts(Struct, frozen=True, kw_only=True):
    """A server about itself."""

    key: str
    """Its node."""
    pid: int = 0
    version: str = ""
    team: str = ""
    lease: str = ""
    trouble: str = ""
    core: CoreFacts = CoreFacts()
    account: AccountFacts = AccountFacts()
    mail: Mapping[str, object] = {}
    agents: int = 0
    busy: int = 0
    megabytes: int | None = None


class Browser(Struct, frozen=True):
    """A session of these pages."""

    number: str
    name: str
    is_view: bool
    is_this: bool
    idle: float


class Silent(Struct, frozen=True):
    """A living server that cannot be reached, and why, in a sentence."""

    node: str
    why: str
    since: float = 0.0
    """When it was noticed."""


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
    letters: Sequence[LetterFacts] = ()
    """The newest first."""
    environments: Sequence[EnvironmentFacts] = ()
    health: Sequence[ServerFacts] = ()
    audit: Sequence[AuditEntry] = ()
    """The newest entries, the newest first."""

    def silent_node(self, node: str) -> Silent | None:
        return next((each for each in self.silent if each.node == node), None)


Facts = TypeVar("Facts")


def facts_in(rows: Iterable[Mapping[str, object]], kind: type[Facts]) -> list[Facts]:
    """What can be read of rows."""
    found = []
    for row in rows:
        with contextlib.suppress(msgspec.ValidationError):
            found.append(msgspec.convert(row, kind))
    return found


def agent_facts(row: Mapping[str, object]) -> AgentFacts | None:
    """The agent of a row; None if it cannot be read, for instance that of a later version."""
    try:
        return msgspec.convert({name: value for name, value in row.items() if value is not None}, AgentFacts)
    except msgspec.ValidationError:
        return None


def letters_in(rows: Iterable[Mapping[str, object]]) -> list[LetterFacts]:
    """Each message once, the newest first: what the server says that runs its recipient counts."""
    found = sorted(facts_in(rows, LetterFacts), key=lambda each: not each.agent)
    once = {each.key: each for each in reversed(found)}
    return sorted(once.values(), key=lambda each: (each.sent_at or 0.0, each.key), reverse=True)
