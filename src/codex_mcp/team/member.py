"""An agent that this server runs: its record, its claim, its thread, and what it is to be told next."""

from __future__ import annotations

import asyncio
import time

from msgspec.structs import replace

from codex_mcp.state.contract import Claim
from codex_mcp.team.agent import Agent, AgentState, RequestKey
from codex_mcp.team.limits import Usage
from codex_mcp.team.profile.context import Surroundings
from codex_mcp.team.requests import with_request, without_request
from codex_mcp.threads.record import Outcome
from codex_mcp.threads.thread import Thread
from codex_mcp.threads.turn import Turn


class Member:
    """One agent of ours."""

    def __init__(self, agent: Agent) -> None:
        self.agent = agent
        self.claim: Claim | None = None
        self.thread: Thread | None = None
        self.life = asyncio.Lock()
        """Held while it is started, resumed or closed: one at a time."""
        self.closing = False
        """Somebody is closing it."""
        self.is_elsewhere = False
        """Its folder is one of another machine."""
        self.told: Surroundings | None = None
        """What the model knows of where it is."""
        self.prefaces: list[str] = []
        """What its next turn begins with."""
        self.warnings: list[str] = []
        """What the caller of its next turn must know."""
        self.summed_up = True
        """It has done nothing since its last summary."""
        self.first: Turn | None = None
        """The turn that it was started for by this server."""
        self.requested: dict[str, Turn] = {}
        """The turns that calls with a request id gave it here, by that id."""
        self.answers: dict[str, Outcome | None] = {}
        """Outcomes of those turns that are to be written, by the request id; None is to be removed."""
        self.usage = Usage()
        self.approvals: dict[str, bytes] = {}
        """What it asks and nobody has answered yet, as it is written."""
        self.approvals_written: set[str] | None = None
        """Which of them the store has; None until somebody has looked what an earlier server left there."""

    def __repr__(self) -> str:
        return f"<Member {self.agent.identity} {self.agent.codex_id} {self.state}>"

    @property
    def state(self) -> AgentState:
        """What it does, from where it is known."""
        if self.thread is None:
            return AgentState.CLOSED if not self.agent.is_active else AgentState.BUSY  # it is being started
        return AgentState.IDLE if self.thread.idle else AgentState.BUSY

    @property
    def thread_id(self) -> str | None:
        """Of its thread, which an old Codex names only with its first turn."""
        return self.agent.thread_id if self.thread is None else self.thread.id

    @property
    def record(self) -> Agent:
        """Its record as of now."""
        state = self.state if self.agent.is_active else AgentState.CLOSED
        return replace(self.agent, thread_id=self.thread_id, thread_state=state)

    @property
    def names(self) -> dict[str, object]:
        """What a result says of it."""
        return names_of(self.agent)

    def remember(self, request: RequestKey) -> None:
        """Note a request before its turn begins; of too many the oldest is forgotten."""
        before = self.agent.requests
        self.agent = with_request(self.agent, request)
        for gone in set(before) - set(self.agent.requests):
            self.requested.pop(gone.id, None)
            self.answers[gone.id] = None

    def forget_request(self, request: RequestKey) -> None:
        """Its turn was refused."""
        self.agent = without_request(self.agent, request.id)

    def answered(self, turn: Turn) -> None:
        """A turn has ended: its outcome is kept if its call may be repeated."""
        for request_id, requested in self.requested.items():
            if requested is turn:
                self.answers[request_id] = turn.outcome

    def touch(self, **changes: object) -> None:
        """Somebody wanted something of it: change its record, and note the time."""
        self.change(last_active=time.time(), **changes)

    def change(self, **changes: object) -> None:
        """Change its record."""
        self.agent = replace(self.agent, thread_id=self.thread_id, **changes)


def names_of(agent: Agent) -> dict[str, object]:
    """What a result says of an agent."""
    return {"codex_id": agent.codex_id, "identity": agent.identity, "team": agent.team}
