"""What became of turns that an earlier server has left, by what Codex says of their thread."""

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from codex_mcp.codex.core import TurnSpec
from codex_mcp.codex.facts import (
    CommandStarted,
    Fact,
    ItemEnded,
    MessageSaid,
    PromptHeard,
    Tokens,
    TokensCounted,
    ToolStarted,
    TurnEnded,
    TurnStarted,
)
from codex_mcp.threads.left.turns import LeftTurn, facts_in, found_in
from codex_mcp.wire.app.history import StoredTurn
from codex_mcp.wire.app.items import Failure

PROMPT = {"type": "userMessage", "id": "u", "clientId": "mine", "content": []}
ANSWER = {"type": "agentMessage", "id": "m", "text": "done"}
COMMAND = {"type": "commandExecution", "id": "c", "command": "ls", "cwd": "/", "commandActions": []}


def turn(*items: object, status: str = "inProgress", turn_id: str = "t") -> StoredTurn:
    return StoredTurn(turn_id, status, [msgspec.Raw(msgspec.json.encode(item)) for item in items])


def left(name: str = "mine", turn_id: str = "") -> LeftTurn:
    return LeftTurn(name, TurnSpec("go"), is_sent=True, turn_id=turn_id)


def facts(stored: StoredTurn, counted: TokensCounted | None = None) -> list[Fact]:
    return list(facts_in("thread", stored, counted))


def test_a_turn_is_found_by_its_prompt_or_by_its_id() -> None:
    turns = [turn(turn_id="before"), turn(PROMPT, turn_id="this"), turn(turn_id="after")]
    assert found_in(turns, left()) is turns[1]
    assert found_in(turns, left(name="other", turn_id="after")) is turns[2]
    assert found_in(turns, left(name="other")) is None
    assert found_in([], left(turn_id="this")) is None


def test_of_two_turns_with_the_same_prompt_the_later_one_counts() -> None:
    turns = [turn(PROMPT, turn_id="first"), turn(PROMPT, turn_id="second")]
    assert found_in(turns, left()) is turns[1]


def test_a_turn_without_an_id_is_not_found_by_none() -> None:
    assert found_in([turn(turn_id="")], left(name="other")) is None


def test_a_turn_that_runs_has_begun_and_what_has_ended_in_it_has() -> None:
    waiting = {**COMMAND, "id": "w", "status": "inProgress"}
    ended = {**COMMAND, "status": "completed"}
    assert facts(turn(PROMPT, ended, waiting, ANSWER)) == [
        TurnStarted("t", "t"),
        PromptHeard("t", "mine"),
        CommandStarted("t", "c", "ls", None),
        ItemEnded("t", "c"),
        CommandStarted("t", "w", "ls", None),
        ToolStarted("t", "m", "writing"),
        MessageSaid("t", "done"),
    ]


@pytest.mark.parametrize("status", ["completed", "interrupted", "failed"])
def test_a_turn_that_has_ended_says_so_after_its_tokens(status: str) -> None:
    used = Tokens(total_tokens=7)
    counted = TokensCounted("another", used, used)
    assert facts(turn(status=status), counted)[1:] == [TokensCounted("t", used, used), TurnEnded("t", status, None)]
    assert facts(turn(status=status))[1:] == [TurnEnded("t", status, None)]
    assert facts(turn(), counted) == [TurnStarted("t", "t")]


def test_a_turn_that_failed_says_why() -> None:
    stored = StoredTurn("t", "failed", [], Failure("no model"))
    assert facts(stored)[-1] == TurnEnded("t", "failed", "no model")


@given(st.lists(st.recursive(st.none() | st.integers() | st.text(), lambda inner: st.lists(inner), max_leaves=3)))
def test_items_that_cannot_be_read_are_left_out(items: list[object]) -> None:
    assert facts(turn(*items)) == [TurnStarted("t", "t")]
    assert found_in([turn(*items)], left()) is None


def test_an_item_of_a_newer_codex_is_no_harm() -> None:
    odd = {"type": "newKind", "id": "x", "status": {"type": "other"}}
    assert facts(turn(odd))[0] == TurnStarted("t", "t")
    assert facts(turn({**odd, "status": "completed"}))[-1] == ItemEnded("t", "x")
