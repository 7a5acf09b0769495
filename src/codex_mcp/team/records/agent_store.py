"""Agents, what they ask and what happened to them, as the store keeps it: written under a claim, read by anybody."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Iterator
from typing import Final, TypeVar

import msgspec
from msgspec import Struct

from codex_mcp.state.contract import Claim, Store
from codex_mcp.team.agent import Agent
from codex_mcp.team.requests import answer_key, decode_answer
from codex_mcp.threads.record import Outcome

logger = logging.getLogger(__name__)

AGENT: Final = "agent"
"""The kind of the records."""

APPROVAL: Final = "approval"
"""The kind of the questions that wait for an answer; a key begins with the codex_id."""

ANSWER: Final = "answer"
"""The kind of the answers to requests that may be repeated."""

EVENTS: Final = "events"
"""The journal's stream of what happened to an agent."""

TURN: Final = "turn"
SUMMARY: Final = "summary"
"""What the end of a turn is called there: of one that somebody asked for, and of one in which an agent sums up."""


class OpenQuestion(Struct, frozen=True):
    """A question as the store keeps it; there is more in it, for people who look into the store."""

    id: str
    codex_id: str
    question: str


class JournalEntry(Struct, frozen=True):
    """An entry of the journal, as far as it is about time."""

    event: str
    at: float = 0.0
    """Of its end, in seconds since the epoch."""
    seconds: float = 0.0
    """That it took."""


Kept = TypeVar("Kept", Agent, OpenQuestion, JournalEntry)


async def write_agent(store: Store, claim: Claim, agent: Agent) -> None:
    """Write an agent's record. Raises Fenced."""
    await store.records.put(claim, AGENT, agent.codex_id, msgspec.json.encode(agent))


async def read_agent(store: Store, codex_id: str) -> Agent | None:
    """One agent, if there is a record of it that we can read."""
    body = await store.records.get(AGENT, codex_id)
    return None if body is None else next(_decoded([body], Agent), None)


async def read_agents(store: Store) -> list[Agent]:
    """All agents of the state folder, whoever runs them."""
    return list(_decoded((await store.records.find(AGENT)).values(), Agent))


async def read_question_keys(store: Store, codex_id: str) -> set[str]:
    """The keys of what an agent asks."""
    return {key for key in await store.records.find(APPROVAL) if key.startswith(f"{codex_id}/")}


async def read_questions(store: Store) -> list[OpenQuestion]:
    """What all agents of the state folder ask; a question that we cannot read is left out."""
    return list(_decoded((await store.records.find(APPROVAL)).values(), OpenQuestion))


async def read_answer(store: Store, agent: Agent, request_id: str) -> Outcome | None:
    """The answer to a request of an agent, if there is one."""
    body = await store.records.get(ANSWER, answer_key(agent.codex_id, request_id))
    return None if body is None else decode_answer(body)


async def read_turn_starts(store: Store, codex_id: str) -> list[float]:
    """When the turns of an agent began that somebody asked for and the journal still has."""
    start = await store.journal.start(codex_id, EVENTS)
    entries = await store.journal.read(codex_id, EVENTS, start, store.bounds.journal_kept)
    return [each.at - each.seconds for each in _decoded(entries, JournalEntry) if each.event == TURN]


def _decoded(bodies: Iterable[bytes], kind: type[Kept]) -> Iterator[Kept]:
    """What was written; what is of a later version and we cannot read is left out, and said."""
    for body in bodies:
        try:
            yield msgspec.json.decode(body, type=kind)
        except msgspec.MsgspecError as exc:
            logger.warning("cannot read something that the store has of an agent (%s): %s", kind.__name__, exc)
