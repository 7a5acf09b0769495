"""Requests are kept with their agent: the one that started it always, and the newest of the others."""

from hypothesis import given
from hypothesis import strategies as st

from codex_mcp.team.agent import RequestKey
from codex_mcp.team.requests import (
    CUT,
    LONGEST_ANSWER,
    REQUESTS_KEPT,
    agent_of,
    answer_key,
    decode_answer,
    encode_answer,
    no_answer,
    request_in,
    with_request,
    without_request,
)
from codex_mcp.threads.record import Outcome, Status
from tests.support.state.agents import an_agent


@given(st.integers(0, 3 * REQUESTS_KEPT))
def test_the_first_and_the_newest_requests_are_kept_in_order(count: int) -> None:
    agent = an_agent(1)
    for number in range(count):
        agent = with_request(agent, RequestKey(str(number), "digest"))
    kept = [int(request.id) for request in agent.requests]
    newest = list(range(max(0, count - REQUESTS_KEPT + 1), count))
    assert kept == sorted({*newest, *([0] if count else [])})
    assert len(kept) <= REQUESTS_KEPT


def test_a_request_is_found_by_its_id_until_it_is_taken_back() -> None:
    agent = with_request(with_request(an_agent(1), RequestKey("a", "1")), RequestKey("b", "2"))
    assert request_in(agent, "b") == RequestKey("b", "2")
    assert agent_of([an_agent(2), agent], "a") is agent
    assert agent_of([an_agent(2)], "a") is None
    assert without_request(agent, "b").requests == (RequestKey("a", "1"),)


@given(st.text(), st.text())
def test_the_key_of_an_answer_names_its_agent_and_tells_requests_apart(one: str, other: str) -> None:
    assert answer_key("codex:1", one).startswith("codex:1/")
    assert (answer_key("codex:1", one) == answer_key("codex:1", other)) == (one == other)


@given(st.text(st.characters(exclude_categories=())))
def test_any_answer_is_written_and_read_again(text: str) -> None:
    outcome = Outcome("t", Status.COMPLETED, text, "thinking", None, (), 1.5)
    read = decode_answer(encode_answer(outcome))
    assert read is not None
    assert (read.thread_id, read.status, read.seconds) == ("t", Status.COMPLETED, 1.5)


def test_of_a_very_long_answer_the_beginning_is_kept() -> None:
    read = decode_answer(encode_answer(Outcome("t", Status.COMPLETED, "word " * LONGEST_ANSWER, "", None, (), 1.0)))
    assert read is not None
    assert read.content == ("word " * LONGEST_ANSWER)[:LONGEST_ANSWER] + CUT


def test_what_cannot_be_read_is_no_answer_and_a_lost_one_says_so() -> None:
    assert decode_answer(b"{") is None
    assert no_answer(an_agent(1)).status is Status.INTERRUPTED
