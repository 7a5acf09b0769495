"""Pure. The refusals of a team, each with a word for programs and a text for people that says what to do."""

from __future__ import annotations

from collections.abc import Iterable
from enum import StrEnum
from typing import Any

from msgspec import Struct

from codex_mcp.base.errors import Refused
from codex_mcp.base.printable import are_waiting
from codex_mcp.base.settings.nearest import nearest
from codex_mcp.state.contract import Node
from codex_mcp.team.agent import Agent, AskedElsewhere, Owner


class Why(StrEnum):
    IDENTITY_TAKEN = "identity_taken"
    NOT_FOUND = "not_found"
    CLOSED = "closed"
    TOO_MANY = "too_many"
    OWNED_ELSEWHERE = "owned_elsewhere"
    PAUSED = "paused"
    BUSY = "busy"
    LOST = "lost"
    REQUEST_REUSED = "request_id_reused"


class RunElsewhere(Struct, frozen=True):
    agent: Agent
    node: Node
    """The other server that runs it."""


class TeamRefused(Refused):
    """A call that the team refuses. `facts` are fields for programs, among them the names of the agent concerned."""

    def __init__(
        self, why: Why, text: str, agent: Agent | None = None, *, elsewhere: RunElsewhere | None = None, **facts: object
    ) -> None:
        """`elsewhere`: nothing was done, because the agent is run there; that server may do it."""
        super().__init__(text)
        self.why = why
        self.elsewhere = elsewhere
        names = {} if agent is None else {"codex_id": agent.codex_id, "identity": agent.identity}
        self.facts: dict[str, object] = {**names, **facts}


def identity_taken(identity: str, holder: Agent | None, elsewhere: Owner | None = None) -> TeamRefused:
    """Another agent has the identity: `holder`, if the caller may know it, and the other server that runs it."""
    facts: dict[str, Any] = {"identity": identity}
    if holder is None:
        text = f'The identity "{identity}" is taken by an agent of another user. Choose another one.'
    elif elsewhere is not None:
        facts |= {"codex_id": holder.codex_id, "pid": elsewhere.pid, "host": elsewhere.host}
        text = (
            f'The identity "{identity}" is taken by agent {holder.codex_id}, which another server runs, process '
            f"{elsewhere.pid} on {elsewhere.host}. Choose another identity, or close that agent there."
        )
    else:
        facts["codex_id"] = holder.codex_id
        text = (
            f'The identity "{identity}" is taken by agent {holder.codex_id}. Continue that agent with codex-reply, '
            "close it with codex_close, or choose another identity."
        )
    return TeamRefused(Why.IDENTITY_TAKEN, text, None, **facts)


def not_found(reference: str, known: Iterable[str] = ()) -> TeamRefused:
    """`known` are the names that could have been meant."""
    meant = nearest(reference[:100], known)
    hint = f" Did you mean {meant}?" if meant else ""
    text = f"No agent {reference[:100]} is known in this team; codex_threads lists the known agents.{hint}"
    return TeamRefused(Why.NOT_FOUND, text, asked=reference)


def name_owned(identity: str) -> TeamRefused:
    text = (
        f"{identity[:100]} is not a name of yours, so you cannot use its mail: another user or program has it. Use the "
        "name of an agent of yours, or one that nobody has used."
    )
    return TeamRefused(Why.IDENTITY_TAKEN, text, asked=identity)


def cannot_resume(reference: str) -> TeamRefused:
    text = (
        f"This server was started with --resume {reference}, and no such agent is known in this team. Restart it with "
        "the codex_id of a known agent, which codex_threads lists, or give this call an `identity` to start a new one."
    )
    return TeamRefused(Why.NOT_FOUND, text, asked=reference)


def different_agents(agent: Agent, other: str) -> TeamRefused:
    text = (
        f"{other} does not name the same agent as {agent.codex_id}, which is {agent.identity}. "
        "Name one agent, by its codex_id, its identity or its threadId."
    )
    return TeamRefused(Why.NOT_FOUND, text, agent, asked=other)


def closed(agent: Agent) -> TeamRefused:
    text = (
        f"Agent {agent.identity} ({agent.codex_id}) is closed. Resume it with codex "
        f'{{"codex_id": "{agent.codex_id}", "prompt": …}}, or start a new one.'
    )
    return TeamRefused(Why.CLOSED, text, agent)


def too_many(limit: int) -> TeamRefused:
    active = "1 agent of yours is active" if limit == 1 else f"{limit} agents of yours are active"
    text = f"{active}, which is the limit (max_concurrent_threads). Close one with codex_close, or raise the limit."
    return TeamRefused(Why.TOO_MANY, text, limit=limit)


def owned_elsewhere(agent: Agent, node: Node, why: str = "", *, was_told: bool = False) -> TeamRefused:
    """`why` that server did not answer, if it was asked. `was_told`: it may do what the call asks for."""
    asked = f"It cannot be asked from here: {why}." if why else "Ask there."
    if was_told:
        wait = f'codex_wait {{"ids": ["{agent.codex_id}"]}}'
        asked = f"It was asked, and did not answer: {why}. {wait} returns its answer."
    text = (
        f"Agent {agent.identity} ({agent.codex_id}) is run by another server, process {node.pid} on {node.host}. "
        f"{asked} When that server ends, this one can take it over."
    )
    elsewhere = None if why else RunElsewhere(agent, node)
    return TeamRefused(Why.OWNED_ELSEWHERE, text, agent, elsewhere=elsewhere, pid=node.pid, host=node.host)


def on_another_machine(agent: Agent) -> TeamRefused:
    text = (
        f"Agent {agent.identity} ({agent.codex_id}) belongs to the machine {agent.host}: its conversation and its "
        "folder are files there. Ask a server of that machine; any of them can resume it."
    )
    return TeamRefused(Why.OWNED_ELSEWHERE, text, agent, host=agent.host)


def ended_elsewhere(agent: Agent, node: Node) -> TeamRefused:
    """That server has ended before it answered."""
    text = (
        f"The server that ran agent {agent.identity} ({agent.codex_id}), process {node.pid} on {node.host}, has ended "
        "before it answered, and what the agent did has ended with it: how far it came is not known. "
        "codex-reply continues the agent here."
    )
    return TeamRefused(Why.LOST, text, agent)


def asked_elsewhere(asked: AskedElsewhere, why: str) -> TeamRefused:
    """`why` the server that runs the agent could not be given the answer."""
    agent, owner = asked.agent, asked.owner
    text = (
        f"Question {asked.id} was asked by agent {agent.identity} ({agent.codex_id}), which another server runs: "
        f"process {owner.pid} on {owner.host}. It could not be answered from here: {why}. Answer it there with "
        "codex_approvals, or in a terminal with `codex-mcp approvals`."
    )
    return TeamRefused(Why.OWNED_ELSEWHERE, text, agent, pid=owner.pid, host=owner.host)


def paused(agent: Agent, reason: str) -> TeamRefused:
    return TeamRefused(Why.PAUSED, f"Agent {agent.identity} is paused: {reason}", agent)


def team_paused(reason: str) -> TeamRefused:
    return TeamRefused(Why.PAUSED, f"No agent was started: {reason}")


def queue_full(agent: Agent, limit: int) -> TeamRefused:
    text = f"Agent {agent.identity} is busy and {are_waiting(limit)} already; wait for one to end."
    return TeamRefused(Why.BUSY, text, agent)


def lost(agent: Agent) -> TeamRefused:
    text = (
        f"Another server has taken over agent {agent.identity} ({agent.codex_id}). Continue the agent there; when that "
        "server ends, this one can take it over."
    )
    return TeamRefused(Why.LOST, text, agent)


def request_reused(agent: Agent, request_id: str) -> TeamRefused:
    text = (
        f'The request_id "{request_id}" belongs to an earlier call with different arguments, for agent '
        f"{agent.identity} ({agent.codex_id}). Repeat that call as it was, or choose another request_id."
    )
    return TeamRefused(Why.REQUEST_REUSED, text, agent, request_id=request_id)


def just_started(agent: Agent) -> TeamRefused:
    text = (
        f"Another server has just started agent {agent.identity} ({agent.codex_id}) for this request. Repeat the call."
    )
    return TeamRefused(Why.BUSY, text, agent)
