"""Pure. Calls with a `request_id`, kept with the record of the agent that they gave a turn to."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from typing import Final

import msgspec
from msgspec.structs import replace

from codex_mcp.base.secrets.redact import redact
from codex_mcp.team.agent import Agent, RequestKey
from codex_mcp.threads.record import Outcome, Status

REQUESTS_KEPT: Final = 32
"""Requests of one agent: the one that started it, and the newest of those that resumed it. Clients retry the latest."""

LONGEST_ANSWER: Final = 64 * 1024
"""Characters of an answer that are kept for a repeat after the agent was closed. Few answers are longer."""

CUT: Final = "\n\n(The rest of this answer was not kept.)"

NO_ANSWER: Final = (
    "The server stopped before this request was answered, and it was not run again: how far the agent came is not known"
)


def request_in(agent: Agent, request_id: str) -> RequestKey | None:
    """The request of this id, if it gave the agent a turn."""
    return next((request for request in agent.requests if request.id == request_id), None)


def agent_of(agents: Iterable[Agent], request_id: str) -> Agent | None:
    """The agent that a request gave a turn to."""
    return next((agent for agent in agents if request_in(agent, request_id) is not None), None)


def with_request(agent: Agent, request: RequestKey) -> Agent:
    """The agent after one more request."""
    first, later = agent.requests[:1], (*agent.requests[1:], request)
    return replace(agent, requests=(*first, *later[1 - REQUESTS_KEPT :]) if first else (request,))


def without_request(agent: Agent, request_id: str) -> Agent:
    """The agent without a request that was refused after all."""
    return replace(agent, requests=tuple(request for request in agent.requests if request.id != request_id))


def answer_key(codex_id: str, request_id: str) -> str:
    """Under what the answer to a request is kept."""
    return f"{codex_id}/{hashlib.sha256(request_id.encode(errors='replace')).hexdigest()[:32]}"


def encode_answer(outcome: Outcome) -> bytes:
    """An answer as it is kept: without secrets, and of a very long one the beginning."""
    text = redact(outcome.content)
    kept = text if len(text) <= LONGEST_ANSWER else text[:LONGEST_ANSWER] + CUT
    return msgspec.json.encode(replace(outcome, content=kept.encode(errors="replace").decode()))


def decode_answer(body: bytes) -> Outcome | None:
    """A kept answer; None if a later version wrote it in a way that we cannot read."""
    try:
        return msgspec.json.decode(body, type=Outcome)
    except msgspec.MsgspecError:
        return None


def no_answer(agent: Agent) -> Outcome:
    """What a repeat is told of a request whose turn ended with its server."""
    return Outcome(agent.thread_id or "", Status.INTERRUPTED, NO_ANSWER, "", None, (), 0.0)
