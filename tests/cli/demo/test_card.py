"""The demo's last word."""

import pytest

from codex_mcp.cli.demo.card import rows, verdict
from codex_mcp.cli.mcp_client.messages import FileChanged, TextPart, ToolResult, TurnResult, Usage

TURN = TurnResult(
    thread_id="thread-1",
    content="Repaired.",
    usage=Usage(input_tokens=12000, cached_input_tokens=9000, output_tokens=600),
    files_changed=[FileChanged("/shop/prices.py", "update"), FileChanged("/else/where.py", "add")],
    duration_seconds=1.25,
)


def test_the_card_says_what_came_of_it_and_what_it_took() -> None:
    assert rows(ToolResult(structured_content=TURN), "OK", "/shop", 2.5) == {
        "answer": "Repaired.",
        "check": "the demo ran the test itself: OK",
        "files": "prices.py (update), /else/where.py (add)",
        "thread": "thread-1",
        "tokens": "12,000 in (9,000 cached), 600 out, as the script counts them",
        "time": "1.2 s for the turn, 2.5 s in all",
    }


def test_a_turn_that_changed_nothing_says_so() -> None:
    turn = TurnResult(thread_id="t", content="")
    assert rows(ToolResult(structured_content=turn), "OK", "/shop", 1)["files"] == "none changed"


def test_a_call_that_could_not_even_begin_shows_its_error() -> None:
    assert rows(ToolResult([TextPart("cannot start")], is_error=True), "FAILED", "/shop", 1) == {
        "error": "cannot start",
        "check": "the demo ran the test itself: FAILED",
        "time": "1.0 s in all",
    }


@pytest.mark.parametrize(
    ("passed", "refused", "is_error", "words"),
    [
        (True, False, False, "The test passes now"),
        (True, True, True, "The test passes now"),
        (False, True, False, "You denied it, so the test still fails"),
        (False, False, True, "The turn failed, and the test still fails"),
        (False, False, False, "The test still fails"),
    ],
)
def test_the_test_has_the_last_word(*, passed: bool, refused: bool, is_error: bool, words: str) -> None:
    assert verdict(ToolResult(is_error=is_error), passed=passed, refused=refused) == words
