"""An agent's record."""

import msgspec
from hypothesis import given
from hypothesis import strategies as st

from codex_mcp.team.agent import (
    Agent,
    AgentState,
    AgentStatus,
    Holder,
    Owner,
    abandoned,
    at_rest,
    last_used,
    oldest_inactive,
)


def agent() -> Agent:
    return Agent(codex_id="codex:0123456789ab", identity="arch", team="t", cwd="/srv", started_at=1.0, last_active=2.0)


def test_a_new_agent_is_active_and_idle() -> None:
    new = agent()
    assert (new.is_active, new.status, new.thread_state) == (True, AgentStatus.ACTIVE, AgentState.IDLE)


def test_it_survives_being_written_down() -> None:
    closed = msgspec.structs.replace(agent(), status=AgentStatus.CLOSED, spec={"model": "m"})
    assert msgspec.json.decode(msgspec.json.encode(closed), type=Agent) == closed
    assert not closed.is_active


def test_when_nobody_runs_it_an_active_one_is_stale_and_a_closed_one_closed() -> None:
    active = msgspec.structs.replace(agent(), thread_state=AgentState.BUSY, owner=Owner("n", 1, "h"))
    resting = at_rest(active)
    assert (resting.status, resting.thread_state, resting.owner) == (AgentStatus.STALE, AgentState.CLOSED, None)
    for status in (AgentStatus.CLOSED, AgentStatus.INTERRUPTED, AgentStatus.STALE):
        assert at_rest(msgspec.structs.replace(active, status=status)).status is status


def test_only_an_agent_whose_server_was_lost_remembers_which_codex_may_have_its_conversation_open() -> None:
    held = msgspec.structs.replace(agent(), holder=Holder(7, "h", "mark"))
    assert at_rest(held).holder is None
    assert abandoned(held) == msgspec.structs.replace(at_rest(held), holder=held.holder)


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
    resting = at_rest(msgspec.structs.replace(agent(), closing=True))
    assert (resting.status, resting.thread_state, resting.closing) == (
        AgentStatus.INTERRUPTED,
        AgentState.CLOSED,
        False,
    )
    assert (
        at_rest(msgspec.structs.replace(agent(), status=AgentStatus.CLOSED, closing=True)).status is AgentStatus.CLOSED
    )
