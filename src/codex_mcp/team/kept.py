"""Agents, and what they ask, as the store keeps them: written under a claim, read by anybody."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Iterator
from typing import Final

import msgspec
from msgspec import Struct

from codex_mcp.state.contract import Claim, Store
from codex_mcp.team.agent import Agent

logger = logging.getLogger(__name__)

AGENT: Final = "agent"
"""The kind of the records."""

APPROVAL: Final = "approval"
"""The kind of the questions that wait for an answer; a key begins with the codex_id."""


class Asked(Struct, frozen=True):
    """A question as the store keeps it; there is more in it, for people who look into the store."""

    id: str
    codex_id: str
    question: str


async def keep(store: Store, claim: Claim, agent: Agent) -> None:
    """Write an agent's record. Raises Fenced."""
    await store.records.put(claim, AGENT, agent.codex_id, msgspec.json.encode(agent))


async def kept_agent(store: Store, codex_id: str) -> Agent | None:
    """One agent, if there is a record of it that we can read."""
    body = await store.records.get(AGENT, codex_id)
    return None if body is None else next(_decoded([body]), None)


async def kept_agents(store: Store) -> list[Agent]:
    """All agents of the state folder, whoever runs them."""
    return list(_decoded((await store.records.find(AGENT)).values()))


async def kept_approvals(store: Store, codex_id: str) -> set[str]:
    """The keys of what an agent asks."""
    return {key for key in await store.records.find(APPROVAL) if key.startswith(f"{codex_id}/")}


async def kept_questions(store: Store) -> list[Asked]:
    """What all agents of the state folder ask; a question that we cannot read is left out."""
    found = []
    for key, body in (await store.records.find(APPROVAL)).items():
        try:
            found.append(msgspec.json.decode(body, type=Asked))
        except msgspec.MsgspecError as exc:
            logger.warning("cannot read the question %s: %s", key, exc)
    return found


def _decoded(bodies: Iterable[bytes]) -> Iterator[Agent]:
    """The agents in these records; one of a later version that we cannot read is left out, and said."""
    for body in bodies:
        try:
            yield msgspec.json.decode(body, type=Agent)
        except msgspec.MsgspecError as exc:
            logger.warning("cannot read the record of an agent: %s", exc)
