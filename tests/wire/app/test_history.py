"""A thread that Codex has stored: its items, and what its agent said last."""

from msgspec import Raw

from codex_mcp.wire.app.history import StoredTurn, last_answer, read_items
from codex_mcp.wire.app.items import AgentMessage


def turn(*items: str) -> StoredTurn:
    return StoredTurn("t", items=[Raw(item.encode()) for item in items])


def said(text: str) -> str:
    return f'{{"type": "agentMessage", "id": "1", "text": "{text}"}}'


def test_items_that_this_release_does_not_know_are_left_out() -> None:
    items = read_items(
        turn(said("one"), '{"type": "somethingNew", "id": "2"}', '{"type": "agentMessage", "id": []}', "1")
    )
    assert [item.text for item in items if isinstance(item, AgentMessage)] == ["one"]
    assert len(items) == 1


def test_the_last_answer_is_that_of_the_last_turn_with_one() -> None:
    assert last_answer([turn(said("first"), said("second")), turn('{"type": "somethingNew"}')]) == "second"
    assert last_answer([turn()]) == ""


def test_a_turn_runs_until_codex_says_that_it_has_ended() -> None:
    assert StoredTurn("t").is_running
    assert not StoredTurn("t", status="completed").is_running
