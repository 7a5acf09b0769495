"""Pure. An agent: a thread with a name in a team, and all that outlives the server that runs it."""

from __future__ import annotations

from collections.abc import Container, Iterable
from enum import StrEnum
from typing import Final

from msgspec import Struct, field
from msgspec.structs import replace

CODEX_ID_PREFIX: Final = "codex:"
"""With it a codex_id can never be taken for an identity, which has no colon."""


class AgentState(StrEnum):
    """What an agent does, as long as somebody runs it."""

    BUSY = "busy"
    IDLE = "idle"
    CLOSED = "closed"


class AgentStatus(StrEnum):
    """How it stands with its life."""

    ACTIVE = "active"
    CLOSED = "closed"
    INTERRUPTED = "interrupted"
    """It was closed, or its server stopped, before it could sum up what it did."""
    STALE = "stale"
    """The server that ran it is gone; whoever asks for it next brings it back."""


class Owner(Struct, frozen=True):
    """The server that runs an agent."""

    node: str
    pid: int
    host: str


class Holder(Struct, frozen=True):
    """The Codex that has a conversation open, as another server on the same machine can find it."""

    server: int
    """The process id of the server that started it."""
    host: str
    mark: str
    """Which that server gave to its Codex (`base.marks`)."""


class RequestKey(Struct, frozen=True):
    """A call with a `request_id` that gave an agent a turn."""

    id: str
    arguments: str
    """A digest of what the call asked for."""


class Agent(Struct, frozen=True, kw_only=True):
    """One entry of the registry. Times are seconds since the epoch."""

    codex_id: str
    identity: str
    team: str
    cwd: str
    started_at: float
    last_active: float
    thread_id: str | None = None
    """Codex's own id, once there is a thread."""
    repo_root: str | None = None
    repo_name: str | None = None
    branch: str | None = None
    status: AgentStatus = AgentStatus.ACTIVE
    thread_state: AgentState = AgentState.IDLE
    tag: str | None = None
    role: str | None = None
    agent_source: str | None = None
    """The file that it was started from."""
    principal: str = "local"
    turns: int = 0
    tokens: int = 0
    last_error: str | None = None
    backend: str = ""
    auto_mail: bool = True
    owner: Owner | None = None
    holder: Holder | None = None
    """Which Codex has its conversation open, or may have it still if its server was lost. Not shown in the registry."""
    closing: bool = False
    """It is busy being closed: should its server die now, it was closed without a summary."""
    spec: dict[str, object] = field(default_factory=dict)
    """How its thread was set up, to bring it back the same. Not shown in the registry."""
    requests: tuple[RequestKey, ...] = ()
    """Calls that must not run twice, oldest first. Not shown in the registry: clients choose the ids."""

    @property
    def is_active(self) -> bool:
        """It has its name and can be talked to."""
        return self.status is AgentStatus.ACTIVE

    @property
    def is_closed(self) -> bool:
        """Only `codex` with its codex_id brings it back; `codex-reply` does not."""
        return self.status in (AgentStatus.CLOSED, AgentStatus.INTERRUPTED)


class AskedElsewhere(Struct, frozen=True):
    """A question of an agent that another server runs."""

    id: str
    agent: Agent
    owner: Owner
    question: str


def at_rest(agent: Agent) -> Agent:
    """The agent when nobody runs it: one that was active then is stale, or interrupted if it was being closed."""
    status = agent.status
    if agent.is_active:
        status = AgentStatus.INTERRUPTED if agent.closing else AgentStatus.STALE
    return replace(agent, status=status, thread_state=AgentState.CLOSED, owner=None, holder=None, closing=False)


def abandoned(agent: Agent) -> Agent:
    """The agent at rest, after its server was lost: that server's Codex may still have the conversation open."""
    return replace(at_rest(agent), holder=agent.holder)


def last_used(agents: Iterable[Agent], taken: Container[str], identity: str | None) -> Agent | None:
    """Of those that nobody runs and whose name is not taken, the one used last; of this name, if there is one."""
    free = (
        agent
        for agent in agents
        if not agent.is_active and agent.identity not in taken and identity in (None, agent.identity)
    )
    return max(free, key=lambda agent: (agent.last_active, agent.codex_id), default=None)


def oldest_inactive(agents: Iterable[Agent], kept: int) -> list[Agent]:
    """Those that nobody runs, without the newest so many of them; oldest first."""
    resting = sorted(
        (agent for agent in agents if not agent.is_active), key=lambda agent: (agent.last_active, agent.codex_id)
    )
    return resting[: max(0, len(resting) - kept)]
