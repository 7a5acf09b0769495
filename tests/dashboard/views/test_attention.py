"""Who needs a person: every row of the table, and that any agent has exactly one answer."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from codex_mcp.control.asked import Asked
from codex_mcp.dashboard.views.attention import Glyph, Group, attention, counts
from codex_mcp.dashboard.views.facts import AgentFacts
from codex_mcp.wire import control
from tests.support.dashboard.facts import HARM, NOW, agent, asked

BUSY: dict[str, Any] = {"thread_state": "busy", "heard": NOW, "since": NOW}


@pytest.mark.parametrize(
    ("who", "question", "expected"),
    [
        (agent(), asked(), (Group.NEED, Glyph.NEED, "wants to run", "git push")),
        (agent(last_error="no model"), None, (Group.NEED, Glyph.FAILED, "stopped:", "no model")),
        (agent(paused="2 of 2 turns", mail=1), None, (Group.NEED, Glyph.NEED, "paused: 2 of 2 turns", "")),
        (agent(held_mail=2), None, (Group.NEED, Glyph.NEED, "2 messages held back by the loop protection", "")),
        (
            agent(**{**BUSY, "heard": NOW - 900}),
            None,
            (Group.NEED, Glyph.NEED, "no sign of life for 15 min", ""),
        ),
        (agent(**BUSY, doing="running /bin/bash -lc 'ls'"), None, (Group.WORK, Glyph.WORK, "", "ls")),
        (agent(**BUSY, doing="thinking"), None, (Group.WORK, Glyph.WORK, "thinking", "")),
        (agent(closing=True), None, (Group.WORK, Glyph.WORK, "sums up its work", "")),
        (agent(said="All\nis well"), None, (Group.READY, Glyph.READY, "All", "")),
        (agent(said="Old", last_active="2027-01-01T00:00:00Z"), None, (Group.OFF, Glyph.OFF, "Old", "")),
        (agent(status="closed"), None, (Group.OFF, Glyph.OFF, "closed", "")),
        (agent(status="interrupted"), None, (Group.OFF, Glyph.OFF, "closed without a summary", "")),
        (
            agent(status="stale"),
            None,
            (Group.OFF, Glyph.OFF, "its server ended; the next prompt resumes it", ""),
        ),
    ],
)
def test_the_first_line_that_fits_counts(
    who: AgentFacts, question: Asked | None, expected: tuple[Group, Glyph, str, str]
) -> None:
    found = attention(who, question, NOW)
    assert (found.group, found.glyph, found.sentence, found.about) == expected


def test_a_question_goes_before_everything_else() -> None:
    worst = agent(last_error="x", paused="y", mail=3, held_mail=1)
    assert attention(worst, asked(), NOW).sentence == "wants to run"


def test_a_failure_that_was_seen_needs_nobody() -> None:
    found = attention(agent(last_error="no model"), None, NOW, seen=True)
    assert (found.group, found.glyph, found.sentence) == (Group.READY, Glyph.SEEN, "stopped: no model")
    assert attention(agent(said="Done."), None, NOW, seen=True).glyph is Glyph.SEEN


def test_a_busy_agent_is_quiet_before_it_needs_a_look() -> None:
    assert attention(agent(**{**BUSY, "heard": NOW - 360}), None, NOW).chip == "quiet 6 min"
    assert attention(agent(**BUSY, waiting=3), None, NOW).chip == "3 prompts waiting"
    assert attention(agent(paused="2 of 2 turns"), None, NOW).chip == "paused"


def test_a_question_that_a_client_was_just_asked_does_not_count_yet() -> None:
    fresh = asked(asked_of=[control.AskedOf("Claude Code", NOW)], asked_at=NOW - 5)
    assert not counts(fresh, NOW)
    assert counts(fresh, NOW + 5)
    assert counts(asked(asked_at=NOW), NOW)
    assert attention(agent(**BUSY), fresh, NOW).group is Group.WORK


texts = st.sampled_from(["", HARM, "x" * 100_000])


@given(
    status=st.sampled_from(["active", "closed", "interrupted", "stale", "of a later version"]),
    state=st.sampled_from(["busy", "idle", "closed"]),
    said=texts,
    error=st.none() | texts,
    doing=texts,
    heard=st.none() | st.floats(0, 2 * NOW),
    seen=st.booleans(),
)
def test_every_agent_has_one_short_line_without_hidden_characters(
    *, status: str, state: str, said: str, error: str | None, doing: str, heard: float | None, seen: bool
) -> None:
    who = agent(status=status, thread_state=state, said=said, last_error=error, doing=doing, heard=heard)
    found = attention(who, None, NOW, seen=seen)
    assert found.group in set(Group)
    text = found.sentence + found.about
    assert len(text) < 300
    assert text.isprintable()
    assert found.sentence or found.about
