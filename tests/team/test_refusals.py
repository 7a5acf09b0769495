"""Every refusal has a word for programs, and says how to go on."""

import pytest

from codex_mcp.state.contract import Node
from codex_mcp.team import refusals
from codex_mcp.team.agent import AskedElsewhere, Owner
from codex_mcp.team.refusals import TeamRefused, Why
from tests.team.test_agent import agent

NODE = Node(id="n", pid=7, host="h", address="", expires=0.0, alive=True)
ASKED = AskedElsewhere("turn/question-1", agent(), Owner("n", 7, "h"), "May I?")


@pytest.mark.parametrize(
    ("refusal", "why", "says"),
    [
        (refusals.identity_taken("arch", agent()), Why.IDENTITY_TAKEN, "codex_close"),
        (refusals.identity_taken("arch", None), Why.IDENTITY_TAKEN, "another user"),
        (refusals.not_found("x"), Why.NOT_FOUND, "codex_threads"),
        (refusals.closed(agent()), Why.CLOSED, '"codex_id": "codex:0123456789ab"'),
        (refusals.too_many(3), Why.TOO_MANY, "max_concurrent_threads"),
        (refusals.owned_elsewhere(agent(), NODE), Why.OWNED_ELSEWHERE, "process 7 on h"),
        (refusals.asked_elsewhere(ASKED, "it sleeps"), Why.OWNED_ELSEWHERE, "process 7 on h. It could not be answered"),
        (refusals.paused(agent(), "it rests"), Why.PAUSED, "it rests"),
        (refusals.queue_full(agent(), 2), Why.BUSY, "2 more prompts"),
        (refusals.lost(agent()), Why.LOST, "Continue the agent there"),
    ],
)
def test_it_says_why_and_what_to_do(refusal: TeamRefused, why: Why, says: str) -> None:
    assert refusal.why is why
    assert says in str(refusal)


def test_who_holds_a_name_is_said_only_to_whom_it_belongs() -> None:
    assert refusals.identity_taken("arch", None).facts == {"identity": "arch"}
    assert refusals.identity_taken("arch", agent()).facts["codex_id"] == agent().codex_id


def test_nobody_is_told_to_continue_or_close_an_agent_that_another_server_runs() -> None:
    elsewhere = refusals.identity_taken("arch", agent(), Owner("n", 7, "there"))
    assert "another server runs, process 7 on there" in str(elsewhere)
    assert "codex-reply" not in str(elsewhere)
    assert (elsewhere.facts["codex_id"], elsewhere.facts["pid"]) == (agent().codex_id, 7)
    assert "codex-reply" in str(refusals.identity_taken("arch", agent()))
