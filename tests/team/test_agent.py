"""An agent's record."""

import msgspec
from hypothesis import given
from hypothesis import strategies as st

from codex_mcp.codex.core import ThreadSpec
from codex_mcp.team.agent import (
    REQUESTS_KEPT,
    Agent,
    AgentState,
    AgentStatus,
    Holder,
    Owner,
    RequestKey,
    abandoned,
    find_request,
    inactive,
    last_used,
    oldest_inactive,
    with_living_owner,
    with_request,
    without_request,
)


def agent() -> Agent:
    return Agent(codex_id="codex:0123456789ab", identity="arch", team="t", cwd="/srv", started_at=1.0, last_active=2.0)


def test_a_new_agent_is_active_and_idle() -> None:
    new = agent()
    assert (new.is_active, new.status, new.thread_state) == (True, AgentStatus.ACTIVE, AgentState.IDLE)


def test_it_survives_being_written_down() -> None:
    closed = msgspec.structs.replace(agent(), status=AgentStatus.CLOSED, spec=ThreadSpec(model="m"))
    assert msgspec.json.decode(msgspec.json.encode(closed), type=Agent) == closed
    assert not closed.is_active


def test_when_nobody_runs_it_an_active_one_is_stale_and_a_closed_one_closed() -> None:
    active = msgspec.structs.replace(agent(), thread_state=AgentState.BUSY, owner=Owner("n", 1, "h"))
    resting = inactive(active)
    assert (resting.status, resting.thread_state, resting.owner) == (AgentStatus.STALE, AgentState.CLOSED, None)
    for status in (AgentStatus.CLOSED, AgentStatus.INTERRUPTED, AgentStatus.STALE):
        assert inactive(msgspec.structs.replace(active, status=status)).status is status


def test_only_an_agent_whose_server_was_lost_remembers_which_codex_may_have_its_conversation_open() -> None:
    held = msgspec.structs.replace(agent(), holder=Holder(7, "h", "mark"))
    assert inactive(held).holder is None
    assert abandoned(held) == msgspec.structs.replace(inactive(held), holder=held.holder)


@given(
    ages=st.lists(st.tuples(st.integers(0, 9), st.sampled_from(AgentStatus)), max_size=12),
    kept=st.integers(0, 8),
)
def test_of_those_that_nobody_runs_the_newest_are_kept(ages: list[tuple[int, AgentStatus]], kept: int) -> None:
    agents = [
        msgspec.structs.replace(agent(), codex_id=f"codex:{number:02}", last_active=float(age), status=status)
        for number, (age, status) in enumerate(ages)
    ]
    old = oldest_inactive(agents, kept)
    resting = [each for each in agents if not each.is_active]
    assert len(old) == max(0, len(resting) - kept)
    assert all(each in resting for each in old)
    left = [each.last_active for each in resting if each not in old]
    assert all(each.last_active <= min(left, default=9.0) for each in old)


@given(
    ages=st.lists(st.tuples(st.integers(0, 9), st.sampled_from(AgentStatus), st.sampled_from("abc")), max_size=12),
    taken=st.sets(st.sampled_from("abc")),
    identity=st.sampled_from([None, *"abc"]),
)
def test_the_last_used_of_those_that_can_be_resumed(
    ages: list[tuple[int, AgentStatus, str]], taken: set[str], identity: str | None
) -> None:
    agents = [
        msgspec.structs.replace(agent(), codex_id=f"codex:{number}", last_active=age, status=status, identity=name)
        for number, (age, status, name) in enumerate(ages)
    ]
    found = last_used(agents, taken, identity)
    free = [each for each in agents if not each.is_active and each.identity not in taken]
    wanted = [each for each in free if identity is None or each.identity == identity]
    assert (found in wanted) if wanted else (found is None)
    assert all(found is not None and each.last_active <= found.last_active for each in wanted)


def test_one_that_was_being_closed_when_its_server_died_is_interrupted() -> None:
    resting = inactive(msgspec.structs.replace(agent(), closing=True))
    assert (resting.status, resting.thread_state, resting.closing) == (
        AgentStatus.INTERRUPTED,
        AgentState.CLOSED,
        False,
    )
    assert (
        inactive(msgspec.structs.replace(agent(), status=AgentStatus.CLOSED, closing=True)).status is AgentStatus.CLOSED
    )


@given(st.integers(0, 3 * REQUESTS_KEPT))
def test_the_first_and_the_newest_requests_are_kept_in_order(count: int) -> None:
    each = agent()
    for number in range(count):
        each = with_request(each, RequestKey(str(number), "digest"))
    kept = [int(request.id) for request in each.requests]
    newest = list(range(max(0, count - REQUESTS_KEPT + 1), count))
    assert kept == sorted({*newest, *([0] if count else [])})
    assert len(kept) <= REQUESTS_KEPT


def test_a_request_is_found_by_its_id_until_it_is_taken_back() -> None:
    each = with_request(with_request(agent(), RequestKey("a", "1")), RequestKey("b", "2"))
    assert [find_request(each, name) for name in ("b", "c")] == [RequestKey("b", "2"), None]
    assert without_request(each, "b").requests == (RequestKey("a", "1"),)


def test_an_active_one_whose_owner_is_gone_is_inactive() -> None:
    owned = msgspec.structs.replace(agent(), owner=Owner("n", 1, "h"))
    assert with_living_owner(owned, {"n"}) == owned
    for orphan in (with_living_owner(owned, {"m"}), with_living_owner(agent(), {"n"})):
        assert (orphan.status, orphan.owner) == (AgentStatus.STALE, None)
    closed = msgspec.structs.replace(agent(), status=AgentStatus.CLOSED)
    assert with_living_owner(closed, ()) == closed
