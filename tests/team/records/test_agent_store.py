"""Agents in the store: what was written is read, and what cannot be read hides nothing else."""

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from codex_mcp.codex.core import ThreadSpec
from codex_mcp.state.contract import Bounds, Claim
from codex_mcp.team.records.agent_store import (
    AGENT,
    CUT,
    EVENTS,
    LONGEST_ANSWER,
    QUESTION,
    OpenQuestion,
    answer_key,
    encode_answer,
    read_agent,
    read_agents,
    read_answer,
    read_question_keys,
    read_questions,
    read_turn_starts,
    write_agent,
    write_answer,
)
from codex_mcp.threads.record import Outcome, Status
from tests.support.state.memory import MemoryStore, World
from tests.team.test_agent import agent


async def claimed(store: MemoryStore, codex_id: str) -> Claim:
    claim = await store.leases.claim(codex_id)
    assert isinstance(claim, Claim)
    return claim


@pytest.mark.parametrize("body", [b"no json", b"{}"])
async def test_what_was_written_is_read_and_a_record_that_cannot_be_read_hides_no_other(body: bytes) -> None:
    store = MemoryStore(World())
    await store.leases.join()
    claim = await claimed(store, agent().codex_id)
    await write_agent(store, claim, agent())
    await store.records.put(claim, AGENT, "odd", body)
    assert await read_agents(store) == [agent()]
    assert [await read_agent(store, name) for name in (agent().codex_id, "odd", "nobody")] == [agent(), None, None]
    await store.aclose()


async def test_settings_that_cannot_be_read_hide_no_agent() -> None:
    store = MemoryStore(World())
    await store.leases.join()
    claim = await claimed(store, agent().codex_id)
    fields = {**msgspec.to_builtins(agent()), "spec": {"model": {"of": "another version"}}}
    await store.records.put(claim, AGENT, agent().codex_id, msgspec.json.encode(fields))
    assert await read_agent(store, agent().codex_id) == agent()
    set_up = msgspec.structs.replace(agent(), spec=ThreadSpec(model="m", config={"a.b": 1}, entries={"/x": "read"}))
    await write_agent(store, claim, set_up)
    assert await read_agent(store, agent().codex_id) == set_up
    await store.aclose()


async def test_a_record_that_has_not_changed_is_decoded_once() -> None:
    store = MemoryStore(World())
    await store.leases.join()
    one, two = agent(), msgspec.structs.replace(agent(), codex_id="codex:ffffffffffff")
    claims = [await claimed(store, each.codex_id) for each in (one, two)]
    for claim, each in zip(claims, (one, two), strict=True):
        await write_agent(store, claim, each)
    before = await read_agents(store)
    await write_agent(store, claims[1], msgspec.structs.replace(two, turns=9))
    after = await read_agents(store)
    assert [each.turns for each in after] == [one.turns, 9]
    assert after[0] is before[0]
    await store.aclose()


async def test_what_an_agent_asks_is_told_from_what_others_ask() -> None:
    store = MemoryStore(World())
    await store.leases.join()
    claim = await claimed(store, "codex:1")
    for key in ("codex:1/a", "codex:1/b", "codex:12/a"):
        await store.records.put(claim, QUESTION, key, b"{}")
    assert await read_question_keys(store, "codex:1") == {"codex:1/a", "codex:1/b"}
    await store.aclose()


async def test_questions_are_read_and_one_that_cannot_be_read_hides_no_other() -> None:
    store = MemoryStore(World())
    await store.leases.join()
    claim = await claimed(store, "codex:1")
    body = b'{"id":"turn/a","codex_id":"codex:1","question":"May I?","asked_at":"now"}'
    for key, value in {"codex:1/0": b"{}", "codex:1/turn/a": body, "codex:1/z": b"no json"}.items():
        await store.records.put(claim, QUESTION, key, value)
    assert await read_questions(store) == [OpenQuestion("turn/a", "codex:1", "May I?")]
    await store.aclose()


async def test_the_turns_that_somebody_asked_for_are_known_by_when_they_began_also_when_the_oldest_are_gone() -> None:
    store = MemoryStore(World(Bounds(journal_kept=4)))
    await store.leases.join()
    claim = await claimed(store, "codex:1")
    assert await read_turn_starts(store, "codex:1") == []
    entries = [
        b'{"event":"turn","at":5.0}',  # which is the oldest, and gone
        b'{"event":"turn","outcome":"completed","tokens":1,"seconds":2.5,"at":10.0}',
        b'{"event":"summary","seconds":1.0,"at":20.0}',
        b'{"event":"turn","at":"noon"}',
        b'{"event":"turn","seconds":1.0,"at":30.0}',
    ]
    await store.journal.append(claim, EVENTS, entries)
    assert await read_turn_starts(store, "codex:1") == [7.5, 29.0]
    await store.aclose()


@given(st.text(), st.text())
def test_the_key_of_an_answer_names_its_agent_and_tells_requests_apart(one: str, other: str) -> None:
    assert answer_key("codex:1", one).startswith("codex:1/")
    assert (answer_key("codex:1", one) == answer_key("codex:1", other)) == (one == other)


@given(st.text(st.characters(exclude_categories=())))
def test_any_answer_is_written_and_read_again(text: str) -> None:
    outcome = Outcome("t", Status.COMPLETED, text, "thinking", None, (), 1.5)
    read = msgspec.json.decode(encode_answer(outcome), type=Outcome)
    assert (read.thread_id, read.status, read.seconds) == ("t", Status.COMPLETED, 1.5)


def test_of_a_very_long_answer_the_beginning_is_kept() -> None:
    outcome = Outcome("t", Status.COMPLETED, "word " * LONGEST_ANSWER, "", None, (), 1.0)
    read = msgspec.json.decode(encode_answer(outcome), type=Outcome)
    assert read.content == ("word " * LONGEST_ANSWER)[:LONGEST_ANSWER] + CUT


async def test_an_answer_that_cannot_be_read_is_none() -> None:
    store = MemoryStore(World())
    await store.leases.join()
    claim = await claimed(store, agent().codex_id)
    encoded = encode_answer(Outcome("t", Status.COMPLETED, "", "", None, (), 0.0))
    for body, is_read in ((b"{", False), (encoded, True), (None, False)):
        await write_answer(store, claim, "r", body)
        assert (await read_answer(store, agent(), "r") is not None) == is_read
    await store.aclose()
