"""What the palette offers."""

from codex_mcp.dashboard.views.facts import FleetFacts
from codex_mcp.dashboard.views.jumps import MOST, PAGES, jumps
from codex_mcp.dashboard.views.rows import looked_at
from tests.support.dashboard.facts import NOW, agent, asked


def test_agents_come_first_those_that_need_a_person_before_all_and_pages_last() -> None:
    facts = FleetFacts(
        agents=[agent("a", status="closed"), agent("dev", thread_state="busy"), agent("api-1", task="Fix & test")],
        asked=[asked()],
    )
    found = jumps(looked_at(facts, lambda _: False, NOW), facts)
    assert [(each.name, each.glyph) for each in found[:3]] == [("api-1", "need"), ("dev", "work"), ("a", "off")]
    assert (found[0].href, found[0].about) == ("/ui/needs-you/1f/question-1", "Fix & test")
    assert found[1].href == "/ui/threads/codex:dev"
    assert [each.href for each in found[3:]] == [href for _, href in PAGES]


def test_a_large_fleet_is_cut() -> None:
    facts = FleetFacts(agents=[agent(f"a{number}") for number in range(MOST + 5)])
    assert len(jumps(looked_at(facts, lambda _: False, NOW), facts)) == MOST + len(PAGES)
