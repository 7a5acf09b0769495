"""Pure. The record of an agent: a thread with a name in a team. Records outlive the server that runs the agent."""

from __future__ import annotations

from collections.abc import Container, Iterable, Mapping
from enum import StrEnum
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from codex_mcp.codex.core import PLAIN, ThreadSpec

CODEX_ID_PREFIX: Final = "codex:"
"""Sets a codex_id apart from an identity, which has no colon."""

REQUESTS_KEPT: Final = 32
"""Requests of one agent: the one that started it, and the newest of those that resumed it. Clients retry the latest."""


class AgentState(StrEnum):
    BUSY = "busy"
    IDLE = "idle"
    CLOSED = "closed"


class AgentStatus(StrEnum):
    """Whether a server runs the agent, and if not, why."""

    ACTIVE = "active"
    CLOSED = "closed"
    INTERRUPTED = "interrupted"
    """It was closed, or its server stopped, before it had written a summary."""
    STALE = "stale"
    """The server that ran it is gone; the next call that names it resumes it."""


class Owner(Struct, frozen=True):
    node: str
    pid: int
    host: str


class Holder(Struct, frozen=True):
    """The Codex process that has a conversation open, so that another server on the same machine can find it."""

    server: int
    host: str
    mark: str
    """The environment mark that the server gave to its Codex."""


class RequestKey(Struct, frozen=True):
    """Identifies a call with a `request_id` that gave an agent a turn."""

    id: str
    arguments: str
    """A digest of the arguments of the call."""


class Agent(Struct, frozen=True, kw_only=True):
    """Times are seconds since the epoch."""

    codex_id: str
    identity: str
    team: str
    cwd: str
    started_at: float
    last_active: float
    thread_id: str | None = None
    """Codex's id of the thread, once there is one."""
    repo_root: str | None = None
    repo_name: str | None = None
    branch: str | None = None
    status: AgentStatus = AgentStatus.ACTIVE
    thread_state: AgentState = AgentState.IDLE
    tag: str | None = None
    role: str | None = None
    agent_source: str | None = None
    """The agent file that it was started from."""
    principal: str = "local"
    turns: int = 0
    tokens: int = 0
    cost: float = 0.0
    """What its tokens have cost, as far as their prices are known."""
    last_error: str | None = None
    backend: str = ""
    auto_mail: bool = True
    mail_since: float = 0.0
    """Older mail to its name is another principal's. Not in the registry."""
    worktree: str | None = None
    """The folder of its own worktree, if it has one. Not in the registry: its `cwd` is in it."""
    host: str = ""
    """The machine with its conversation and its folder. Not in the registry."""
    owner: Owner | None = None
    holder: Holder | None = None
    """The Codex that has, or after the loss of its server may have, the conversation open. Not in the registry."""
    closing: bool = False
    """A close has begun. If its server dies now, the agent counts as closed without a summary."""
    spec: ThreadSpec = PLAIN
    """How its thread was set up, for resuming it. Not in the registry."""
    requests: tuple[RequestKey, ...] = ()
    """Calls that must not run twice, oldest first. Not in the registry, because clients choose the ids."""

    @property
    def environment(self) -> str | None:
        """Where its commands run; None if it was started on a server with only one place."""
        return self.spec.environment

    @property
    def is_active(self) -> bool:
        return self.status is AgentStatus.ACTIVE

    @property
    def is_closed(self) -> bool:
        """Only `codex` with its codex_id resumes it; `codex-reply` does not."""
        return self.status in (AgentStatus.CLOSED, AgentStatus.INTERRUPTED)


class Mailbox(Struct, frozen=True, kw_only=True):
    """A name with mail, and the agent that has it or had it last."""

    identity: str
    team: str
    principal: str
    mail_since: float = 0.0
    codex_id: str | None = None
    thread_id: str | None = None


def mailbox_of(agent: Agent) -> Mailbox:
    return Mailbox(
        identity=agent.identity,
        team=agent.team,
        principal=agent.principal,
        mail_since=agent.mail_since,
        codex_id=agent.codex_id,
        thread_id=agent.thread_id,
    )


class AskedElsewhere(Struct, frozen=True):
    id: str
    agent: Agent
    owner: Owner
    question: str
    answers: Mapping[str, object] = {}
    """How it can be answered; empty if a server of an earlier version has written it."""


def inactive(agent: Agent) -> Agent:
    """The record once no server runs the agent: stale if it was active, or interrupted if a close had begun."""
    status = agent.status
    if agent.is_active:
        status = AgentStatus.INTERRUPTED if agent.closing else AgentStatus.STALE
    return replace(agent, status=status, thread_state=AgentState.CLOSED, owner=None, holder=None, closing=False)


def abandoned(agent: Agent) -> Agent:
    """The inactive record after the loss of the server, whose Codex may still have the conversation open."""
    return replace(inactive(agent), holder=agent.holder)


def is_orphan(agent: Agent, living: Container[str]) -> bool:
    """Whether the record says active, but the owner is not one of the `living` nodes."""
    return agent.is_active and (agent.owner is None or agent.owner.node not in living)


def with_living_owner(agent: Agent, living: Container[str]) -> Agent:
    return inactive(agent) if is_orphan(agent, living) else agent


def last_used(agents: Iterable[Agent], taken: Container[str], identity: str | None) -> Agent | None:
    """The inactive agent used last whose identity is not taken; only of this identity, if one is given."""
    free = (
        agent
        for agent in agents
        if not agent.is_active and agent.identity not in taken and identity in (None, agent.identity)
    )
    return max(free, key=lambda agent: (agent.last_active, agent.codex_id), default=None)


def oldest_inactive(agents: Iterable[Agent], kept: int) -> list[Agent]:
    """Inactive agents beyond the newest `kept`, oldest first."""
    resting = sorted(
        (agent for agent in agents if not agent.is_active), key=lambda agent: (agent.last_active, agent.codex_id)
    )
    return resting[: max(0, len(resting) - kept)]


def thread_of_none(thread_id: str) -> Agent:
    """What is said of a thread that is no agent's, as that of a review."""
    return Agent(codex_id=thread_id, identity="of a review", team="", cwd="", started_at=0.0, last_active=0.0)


def names_of(agent: Agent) -> dict[str, object]:
    return {"codex_id": agent.codex_id, "identity": agent.identity, "team": agent.team}


def find_request(agent: Agent, request_id: str) -> RequestKey | None:
    return next((request for request in agent.requests if request.id == request_id), None)


def with_request(agent: Agent, request: RequestKey) -> Agent:
    """The record with one more request; beyond REQUESTS_KEPT, the oldest but the first is dropped."""
    first, later = agent.requests[:1], (*agent.requests[1:], request)
    return replace(agent, requests=(*first, *later[1 - REQUESTS_KEPT :]) if first else (request,))


def without_request(agent: Agent, request_id: str) -> Agent:
    return replace(agent, requests=tuple(request for request in agent.requests if request.id != request_id))
