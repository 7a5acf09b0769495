"""An agent's record."""

import msgspec

from codex_mcp.team.agent import Agent, Owner, State, Status, at_rest


def agent() -> Agent:
    return Agent(codex_id="codex:0123456789ab", identity="arch", team="t", cwd="/srv", started_at=1.0, last_active=2.0)


def test_a_new_agent_is_active_and_idle() -> None:
    new = agent()
    assert (new.is_active, new.status, new.thread_state) == (True, Status.ACTIVE, State.IDLE)


def test_it_survives_being_written_down() -> None:
    closed = msgspec.structs.replace(agent(), status=Status.CLOSED, spec={"model": "m"})
    assert msgspec.json.decode(msgspec.json.encode(closed), type=Agent) == closed
    assert not closed.is_active


def test_when_nobody_runs_it_an_active_one_is_stale_and_a_closed_one_closed() -> None:
    active = msgspec.structs.replace(agent(), thread_state=State.BUSY, owner=Owner("n", 1, "h"))
    resting = at_rest(active)
    assert (resting.status, resting.thread_state, resting.owner) == (Status.STALE, State.CLOSED, None)
    for status in (Status.CLOSED, Status.INTERRUPTED, Status.STALE):
        assert at_rest(msgspec.structs.replace(active, status=status)).status is status
