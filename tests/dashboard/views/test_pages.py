"""The pages as values."""

import msgspec

from codex_mcp.dashboard.views.facts import AgentFacts, FleetFacts
from codex_mcp.dashboard.views.pages import fleet_page, needs_page
from codex_mcp.wire import control
from tests.support.dashboard.facts import NOW, agent, asked, receipt

LATE = asked(id="1f/question-1", thread="thread-a", agent="a", deadline=NOW + 100)
SOON = asked(id="2f/question-1", thread="thread-b", agent="b", deadline=NOW + 10)
REVIEW = asked(id="3f/question-1", thread="review", agent="", deadline=None)
FACTS = FleetFacts([agent("a"), agent("b"), agent("c", last_error="no model"), agent("d")], [LATE, SOON, REVIEW])


def unseen(_: AgentFacts) -> bool:
    return False


def test_an_empty_fleet_says_so() -> None:
    page = fleet_page(FleetFacts(), unseen, NOW)
    assert (page.is_empty, page.sentence) == (True, "No agents yet.")
    assert needs_page(FleetFacts(), unseen, NOW).sentence == "Nobody needs you."


def test_the_fleet_counts_threads_without_an_agent_too() -> None:
    page = fleet_page(FACTS, unseen, NOW, show="no such group", q="\x07")
    assert (page.sentence, page.counts.need, page.show, page.q) == ("4 agents need you.", 4, "", "\\u{7}")
    assert [item.key for item in page.others] == ["3f/question-1"]
    many = FleetFacts([agent(f"a{number}") for number in range(21)])
    assert (fleet_page(many, unseen, NOW).is_dense, page.is_dense) == (True, False)


def test_the_soonest_deadline_comes_first_then_failures() -> None:
    page = needs_page(FACTS, unseen, NOW)
    assert [item.key for item in page.items] == ["2f/question-1", "1f/question-1", "3f/question-1", "agent/codex:c"]
    assert page.card is not None
    assert (page.card.id, page.next) == ("2f/question-1", "/ui/needs-you/1f/question-1")
    assert [item.is_current for item in page.items] == [True, False, False, False]


def test_one_entry_is_shown_in_full() -> None:
    failed = needs_page(FACTS, unseen, NOW, chosen="agent/codex:c")
    assert failed.trouble is not None
    assert (failed.card, failed.trouble.text, failed.trouble.can_be_seen) == (None, "no model", True)
    seen = needs_page(FACTS, lambda _: True, NOW, chosen="agent/codex:c")
    assert (seen.trouble, len(seen.items)) == (None, 3)


def test_a_question_that_has_ended_stays_on_the_screen_with_its_receipt() -> None:
    ended = control_closed = asked(id="9f/question-1", receipt=receipt(), state="decided")
    facts = FleetFacts([agent("a")], [], [control_closed])
    page = needs_page(facts, unseen, NOW, chosen="9f/question-1")
    assert page.card is not None
    assert page.card.receipt is not None
    assert (page.items, page.answered[0].text) == ([], "approved by mira: git push")
    shown = needs_page(FleetFacts(), unseen, NOW, chosen="9f/question-1", shown=ended)
    assert shown.card is not None
    expired = asked(receipt=receipt(state="expired", decision="expired", by=""), state="expired")
    assert needs_page(FleetFacts([], [], [expired]), unseen, NOW).answered[0].glyph == "off"


def test_a_question_that_a_client_was_just_asked_is_not_in_the_queue_yet() -> None:
    fresh = asked(asked_of=[control.AskedOf("Claude Code", NOW)], asked_at=NOW - 1, thread="thread-a")
    facts = FleetFacts([agent("a", thread_state="busy", heard=NOW)], [fresh])
    assert needs_page(facts, unseen, NOW).items == []
    assert needs_page(facts, unseen, NOW + 10).items[0].key == "1f/question-1"


def test_the_pages_can_be_told_as_json() -> None:
    for page in (fleet_page(FACTS, unseen, NOW), needs_page(FACTS, unseen, NOW)):
        told = msgspec.json.decode(msgspec.json.encode(page))
        assert (told["schema"], told["sentence"], told["counts"]["need"]) == (1, page.sentence, page.counts.need)
