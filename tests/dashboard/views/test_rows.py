"""The fleet as rows."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from codex_mcp.dashboard.views.attention import Group
from codex_mcp.dashboard.views.facts import AgentFacts, FleetFacts, RunBy, Silent
from codex_mcp.dashboard.views.rows import (
    Counts,
    count,
    detail,
    is_of,
    looked_at,
    sections,
    sentence,
    tokens,
    without_agent,
)
from tests.support.dashboard.facts import NOW, agent, asked


def unseen(_: AgentFacts) -> bool:
    return False


def test_the_sentence_is_true() -> None:
    assert [sentence(n) for n in (0, 1, 2)] == ["Nobody needs you.", "1 agent needs you.", "2 agents need you."]
    assert (sentence(1, 1), sentence(2, 2)) == ("1 thing needs you.", "2 things need you.")
    assert sentence(3, 1) == "2 agents and 1 more thing need you."
    facts = FleetFacts([agent()], [asked()])
    assert detail(Counts(1, 2, 3), facts, NOW) == "2 working, 3 ready; the oldest question is 1 min old"
    assert detail(Counts(0, 0, 1), FleetFacts(), NOW) == "0 working, 1 ready"


def test_a_row_says_where_and_by_whom_only_if_that_tells_something() -> None:
    one, other = agent("a", cwd="/src/harbor"), agent("b", branch="main", repo_name="harbor", principal="mira")
    facts = FleetFacts([one, other])
    (section,) = sections(looked_at(facts, unseen, NOW), facts, "", "")
    assert [(row.folder, row.branch, row.server, row.principal) for row in section.rows] == [
        ("harbor", "", "", "local"),
        ("harbor", "main", "", "mira"),
    ]
    far = FleetFacts([one, agent("c", owner=RunBy("far", 9))], silent=[Silent("far", "it hangs")])
    (ready,) = sections(looked_at(far, unseen, NOW), far, "", "")
    assert [(row.server, row.is_live) for row in ready.rows] == [("process 4711", True), ("process 9", False)]


def test_rows_are_links_to_what_needs_a_person_or_to_the_thread() -> None:
    facts = FleetFacts([agent("api-1"), agent("b", last_error="x"), agent("c")], [asked()])
    rows = {row.name: row for section in sections(looked_at(facts, unseen, NOW), facts, "", "") for row in section.rows}
    assert rows["api-1"].href == "/ui/needs-you/1f/question-1"
    assert rows["b"].href == "/ui/needs-you/agent/codex:b"
    assert rows["c"].href == "/ui/threads/codex:c"


def test_rows_are_filtered_by_group_and_by_words() -> None:
    facts = FleetFacts([agent("a", task="Cut Release"), agent("b", thread_state="busy", heard=NOW), agent("c")])
    looked = looked_at(facts, unseen, NOW)
    assert [section.group for section in sections(looked, facts, "work", "")] == [Group.WORK]
    (section,) = sections(looked, facts, "", "release CUT")
    assert [row.name for row in section.rows] == ["a"]


def test_a_question_is_an_agents_by_its_thread_or_by_its_name_on_that_server() -> None:
    assert is_of(asked(agent="other"), agent("api-1"))
    assert is_of(asked(thread="new"), agent("api-1"))
    assert not is_of(asked(thread="new"), agent("api-1", owner=RunBy("far", 1)))
    review = asked(id="2f/question-1", thread="review", agent="")
    assert without_agent(FleetFacts([agent()], [asked(), review]), NOW) == [review]


@pytest.mark.parametrize(("number", "words"), [(0, ""), (950, "950"), (12_400, "12 k"), (1_240_000, "1.24 M")])
def test_tokens_have_a_unit(number: int, words: str) -> None:
    assert tokens(number) == words


agents = st.lists(
    st.builds(
        agent,
        st.from_regex("[a-z]{1,4}", fullmatch=True),
        status=st.sampled_from(["active", "stale", "closed"]),
        thread_state=st.sampled_from(["busy", "idle"]),
        last_error=st.none() | st.just("x"),
        heard=st.floats(NOW - 2000, NOW),
    ),
    unique_by=lambda each: each.codex_id,
    max_size=20,
)


@given(agents)
def test_every_agent_is_in_exactly_one_group_and_the_numbers_add_up(found: list[AgentFacts]) -> None:
    facts = FleetFacts(found)
    looked = looked_at(facts, unseen, NOW)
    shown = [row.key for section in sections(looked, facts, "", "") for row in section.rows]
    assert sorted(shown) == sorted(each.codex_id.removeprefix("codex:") for each in found)
    counts = count(looked)
    assert counts.all == len(found)
    assert counts.need == sum(each.attention.group is Group.NEED for each in looked)
