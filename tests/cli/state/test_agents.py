import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from codex_mcp.cli.state.agents import OPTIONAL, TITLES, as_they_are, chosen, entries, outdated, row
from codex_mcp.cli.tables import cell_width, table
from codex_mcp.codex.core import ThreadSpec
from codex_mcp.team.agent import Agent, AgentState, AgentStatus
from tests.support.state.agents import an_agent, owned

agents = st.builds(
    lambda number, status, node: owned(an_agent(number, status=status, days_ago=number), node),
    st.integers(0, 9),
    st.sampled_from(AgentStatus),
    st.sampled_from(["alive", "dead"]),
)


def test_an_agent_whose_server_is_gone_is_stale() -> None:
    mine = owned(an_agent(1, status=AgentStatus.ACTIVE), "alive")
    lost = owned(an_agent(2, status=AgentStatus.ACTIVE), "dead")
    nobodys = an_agent(3, status=AgentStatus.ACTIVE)
    seen = {agent.codex_id: agent for agent in as_they_are([mine, lost, nobodys], {"alive"})}
    assert seen[mine.codex_id] == mine
    for agent in (lost, nobodys):
        stale = seen[agent.codex_id]
        assert (stale.status, stale.thread_state, stale.owner) == (AgentStatus.STALE, AgentState.CLOSED, None)


@given(st.lists(agents, max_size=8))
def test_nobody_is_lost_and_the_latest_comes_first(given_agents: list[Agent]) -> None:
    seen = as_they_are(given_agents, {"alive"})
    assert sorted(agent.codex_id for agent in seen) == sorted(agent.codex_id for agent in given_agents)
    assert [agent.last_active for agent in seen] == sorted((agent.last_active for agent in seen), reverse=True)
    assert all(agent.owner and agent.owner.node == "alive" for agent in seen if agent.is_active)


def test_repositories_go_by_name_or_folder_and_closed_ones_must_be_asked_for() -> None:
    here, closed = an_agent(1, status=AgentStatus.STALE), an_agent(2, "other")
    elsewhere = msgspec.structs.replace(here, codex_id="codex:3", repo_name=None, repo_root=None)
    everybody = [here, closed, elsewhere]
    assert chosen(everybody, repo=None, identity=None, closed=True) == everybody
    assert chosen(everybody, repo="shop", identity=None, closed=True) == [here, closed]
    assert chosen(everybody, repo="/somewhere/shop", identity="codex", closed=True) == [here]
    assert chosen(everybody, repo=None, identity=None, closed=False) == [here, elsewhere]


@given(st.lists(agents, max_size=8), st.integers(0, 10))
def test_only_what_nobody_runs_and_nobody_used_is_outdated(given_agents: list[Agent], days: int) -> None:
    before = an_agent(0).last_active - days * 86_400
    found = outdated(given_agents, before)
    assert all(not agent.is_active and agent.last_active < before for agent in found)
    assert all(agent in found or agent.is_active or agent.last_active >= before for agent in given_agents)


def test_a_row_says_what_an_agent_does_or_how_it_ended() -> None:
    idle, stale = an_agent(1, status=AgentStatus.ACTIVE), an_agent(2, status=AgentStatus.STALE, days_ago=2)
    now = idle.last_active + 65
    assert row(idle, now) == ("codex:000000000001", "codex", "default", "idle", "1 min", "3", "shop", "main")
    assert row(stale, now)[3:5] == ("stale", "2 d")
    assert len(TITLES) == len(row(idle, now))


def test_programs_get_agents_in_order_and_without_their_specs() -> None:
    told = entries([an_agent(2), msgspec.structs.replace(an_agent(1), spec=ThreadSpec(base_instructions="secret"))], 0)
    assert [entry["codex_id"] for entry in told if isinstance(entry, dict)] == [
        "codex:000000000002",
        "codex:000000000001",
    ]
    assert all("spec" not in entry for entry in told if isinstance(entry, dict))


@pytest.mark.parametrize("width", [60, 80, 120])
def test_the_table_fits_a_terminal(width: int) -> None:
    long = {"identity": "a-reviewer-of-many-things", "team": "backend-and-more", "branch": "fix/" + "x" * 60}
    shown = [msgspec.structs.replace(an_agent(number, status=AgentStatus.INTERRUPTED), **long) for number in range(3)]
    shown = [
        msgspec.structs.replace(agent, codex_id=f"codex:{'0199a213-81c0-7800-8aa1-bbab2a035a53'}") for agent in shown
    ]
    told = table(TITLES, [row(agent, 1e12) for agent in shown], width, whole=1, optional=OPTIONAL)
    assert all(cell_width(line) <= width for line in told.splitlines())
    assert "bbab2a035a53" in told
    assert "STATE" in told
