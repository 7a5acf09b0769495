"""Rows of servers as facts."""

from codex_mcp.dashboard.views.facts import FleetFacts, Silent, agent_facts
from tests.support.dashboard.facts import agent


def test_a_row_is_read_with_what_it_lacks_and_what_it_has_more() -> None:
    found = agent_facts({"codex_id": "codex:1", "identity": "a", "branch": None, "spec": {}, "later": 1})
    assert found is not None
    assert (found.identity, found.branch, found.node) == ("a", None, "")
    assert agent_facts({"identity": "a"}) is None
    assert agent_facts({"codex_id": 1, "identity": "a"}) is None


def test_times_and_titles_of_an_agent() -> None:
    assert agent().used_at == 1_800_000_000 - 60
    assert agent(last_active="yesterday").used_at == 0
    assert agent(task="\n  Cut it\x07\nand more").title == "Cut it\\u{7}"


def test_a_server_is_silent_by_its_node() -> None:
    facts = FleetFacts(silent=[Silent("n", "why")])
    assert facts.silent_node("n") == Silent("n", "why")
    assert facts.silent_node("m") is None
