"""The sub-agents of a thread: their states, and tokens that are counted once."""

from codex_mcp.codex.facts import Tokens, TokensCounted, TurnEnded, TurnStarted
from codex_mcp.threads.own.subagents import Subagents


def counted(total: int, last: int) -> TokensCounted:
    return TokensCounted("turn", Tokens(total_tokens=total), Tokens(total_tokens=last))


def test_each_is_busy_while_its_turn_runs_and_its_tokens_are_counted_once() -> None:
    helpers = Subagents()
    assert helpers.fact_received("one", TurnStarted("turn", "root")) is None
    assert helpers.fact_received("one", counted(120, 120)) == Tokens(total_tokens=120, requests=1)
    assert helpers.fact_received("one", counted(120, 120)) == Tokens()  # Codex repeats it
    assert helpers.fact_received("two", counted(50, 50)) == Tokens(total_tokens=50, requests=1)
    helpers.named("one", "Nash")
    assert [(each.name, each.state, each.tokens) for each in helpers.listed()] == [
        ("Nash", "busy", 120),
        ("two", "idle", 50),
    ]
    helpers.fact_received("one", TurnEnded("turn", "completed", None))
    assert [each.state for each in helpers.listed()] == ["idle", "idle"]


def test_all_have_ended_with_the_core() -> None:
    helpers = Subagents()
    helpers.fact_received("one", TurnStarted("turn", "root"))
    helpers.all_ended()
    assert [each.state for each in helpers.listed()] == ["idle"]
    assert helpers.name("unknown") == ""
