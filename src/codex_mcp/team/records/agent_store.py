"""Agents in the store: the only module that writes and reads their records, open questions and answers.

Every write needs the claim on the agent, and raises Fenced if another server has it by now. Reads need no claim.
Anything that a later version wrote and we cannot decode is skipped, with a warning.
"""

from __future__ import annotations

import contextlib
import functools
import hashlib
import logging
import time
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping, Sequence
from typing import Final, TypeVar

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from codex_mcp.base.secrets.redact import redact
from codex_mcp.state.contract import Claim, NameOwned, Record, Store, TooManyNames
from codex_mcp.team.agent import Agent
from codex_mcp.threads.record import Outcome

logger = logging.getLogger(__name__)

AGENT: Final = "agent"

QUESTION: Final = "approval"
"""The kind of open questions; a key begins with the codex_id."""

ANSWER: Final = "answer"
"""The kind of answers to requests that may be repeated."""

EVENTS: Final = "events"
"""The journal stream of what happened to an agent."""

TURN: Final = "turn"
SUMMARY: Final = "summary"
"""The journal's events for the end of a turn: one that a caller asked for, and one in which an agent sums up."""

LONGEST_ANSWER: Final = 64 * 1024
"""Characters kept of an answer, for a repeat after the agent was closed. Few answers are longer."""

RECORDS_KEPT: Final = 2_048
"""Records that are kept decoded: a thousand agents at work, and those that rest."""

CUT: Final = "\n\n(The rest of this answer was not kept.)"


class OpenQuestion(Struct, frozen=True):
    """The fields of a stored question that servers read; there are more, for people."""

    id: str
    codex_id: str
    question: str
    decisions: tuple[str, ...] = ()
    rules: Mapping[str, str] | None = None
    form: Mapping[str, object] | None = None
    url: str | None = None

    @property
    def answers(self) -> dict[str, object]:
        """How it can be answered, as the server that runs its agent has described it."""
        said = {"decisions": list(self.decisions) or None, "rules": self.rules, "form": self.form, "url": self.url}
        return {name: value for name, value in said.items() if value is not None}


class JournalEntry(Struct, frozen=True):
    event: str
    at: float = 0.0
    """When it ended, in seconds since the epoch."""
    seconds: float = 0.0


Stored = TypeVar("Stored", Agent, OpenQuestion, JournalEntry)


def write_agent(store: Store, claim: Claim, agent: Agent, events: Sequence[bytes] = ()) -> Awaitable[None]:
    """Write an agent's record, together with what happened to it."""
    record = Record(AGENT, agent.codex_id, msgspec.json.encode(agent))
    if events:
        return store.journal.append(claim, EVENTS, events, record)
    return store.records.put(claim, record.kind, record.key, record.body)


async def finish_agent(store: Store, claim: Claim, agent: Agent) -> None:
    """Write an agent's final record, remove its open questions, free its identity and release the claim."""
    await write_agent(store, claim, agent)
    for key in await read_question_keys(store, agent.codex_id):
        await store.records.delete(claim, QUESTION, key)
    await store.records.unbind(claim, agent.team, agent.identity)
    await store.leases.release(claim)


async def delete_agent(store: Store, claim: Claim, agent: Agent) -> None:
    """Delete everything about an agent, free its identity and release the claim.

    With the last agent of a name its principal gives up the name.
    """
    await store.records.unbind(claim, agent.team, agent.identity)
    await store.journal.forget(claim)
    for request in agent.requests:
        await store.records.delete(claim, ANSWER, answer_key(agent.codex_id, request.id))
    await store.records.delete(claim, AGENT, agent.codex_id)
    name = (agent.team, agent.identity)
    if all((other.team, other.identity) != name for other in await read_agents(store)):
        await store.records.disown(*name, agent.principal, time.time())
    await store.leases.release(claim)


async def own_names(store: Store) -> None:
    """Record who owns the names of agents that an older server has started. The first that used a name owns it."""
    agents = sorted(await read_agents(store), key=lambda agent: agent.started_at)
    known = {(team, each.name) for team in {agent.team for agent in agents} for each in await store.records.names(team)}
    for agent in agents:
        if (agent.team, agent.identity) not in known:
            with contextlib.suppress(NameOwned, TooManyNames):
                await store.records.own(agent.team, agent.identity, agent.principal)


async def write_questions(store: Store, claim: Claim, questions: Mapping[str, bytes], written: set[str] | None) -> None:
    """Make these the agent's open questions, by key. `written` are the keys in the store, if they are known."""
    if written is None:
        written = await read_question_keys(store, claim.thread)
    for key in questions.keys() - written:
        await store.records.put(claim, QUESTION, key, questions[key])
    for key in written - questions.keys():
        await store.records.delete(claim, QUESTION, key)


def write_answer(store: Store, claim: Claim, request_id: str, body: bytes | None) -> Awaitable[None]:
    key = answer_key(claim.thread, request_id)
    if body is None:
        return store.records.delete(claim, ANSWER, key)
    return store.records.put(claim, ANSWER, key, body)


async def read_agent(store: Store, codex_id: str) -> Agent | None:
    body = await store.records.get(AGENT, codex_id)
    return None if body is None else next(_decoded([body], Agent, _agent), None)


async def read_agents(store: Store) -> list[Agent]:
    """All agents; of a record that has not changed, the same object as before."""
    return list(_decoded((await store.records.find(AGENT)).values(), Agent, _agent))


async def read_question_keys(store: Store, codex_id: str) -> set[str]:
    return {key for key in await store.records.find(QUESTION) if key.startswith(f"{codex_id}/")}


async def read_questions(store: Store) -> list[OpenQuestion]:
    return list(_decoded((await store.records.find(QUESTION)).values(), OpenQuestion))


async def read_answer(store: Store, agent: Agent, request_id: str) -> Outcome | None:
    """The answer to a request; None if there is none that we can decode."""
    body = await store.records.get(ANSWER, answer_key(agent.codex_id, request_id))
    if body is not None:
        with contextlib.suppress(msgspec.MsgspecError):
            return msgspec.json.decode(body, type=Outcome)
    return None


async def read_turn_starts(store: Store, codex_id: str) -> list[float]:
    """When the turns began that callers gave to an agent, as far back as the journal goes."""
    entries = await store.journal.read(codex_id, EVENTS)
    return [each.at - each.seconds for each in _decoded(entries, JournalEntry) if each.event == TURN]


def with_host(body: bytes, host: str) -> bytes:
    """A stored agent that says on which machine its files are. One that says so, or cannot be read, stays as it is."""
    try:
        fields = msgspec.json.decode(body, type=dict[str, object])
    except msgspec.MsgspecError:
        return body
    return body if fields.get("host") else msgspec.json.encode({**fields, "host": host})


def answer_key(codex_id: str, request_id: str) -> str:
    return f"{codex_id}/{hashlib.sha256(request_id.encode(errors='replace')).hexdigest()[:32]}"


def encode_answer(outcome: Outcome) -> bytes:
    """The stored form of an answer: secrets masked, and only the beginning of a very long one."""
    text = redact(outcome.content)
    kept = text if len(text) <= LONGEST_ANSWER else text[:LONGEST_ANSWER] + CUT
    return msgspec.json.encode(replace(outcome, content=kept.encode(errors="replace").decode()))


@functools.lru_cache(maxsize=RECORDS_KEPT)
def _agent(body: bytes) -> Agent:
    try:
        return msgspec.json.decode(body, type=Agent)
    except msgspec.ValidationError:  # perhaps only the settings of its thread are of another version
        fields = msgspec.json.decode(body, type=dict[str, object])
        return msgspec.convert({**fields, "spec": {}}, Agent)


def _decoded(
    bodies: Iterable[bytes], kind: type[Stored], decode: Callable[[bytes], Stored] | None = None
) -> Iterator[Stored]:
    decode = decode or msgspec.json.Decoder(kind).decode
    for body in bodies:
        try:
            yield decode(body)
        except msgspec.MsgspecError as exc:
            logger.warning("cannot read something that the store has of an agent (%s): %s", kind.__name__, exc)
