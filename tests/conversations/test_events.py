from hypothesis import given
from hypothesis import strategies as st

from codex_mcp.codex.events.translator import Event
from codex_mcp.conversations.events import TURNS_KEPT, Submissions, told


def test_a_delta_is_told_as_0_153_4_and_as_0_42_0_did() -> None:
    msg: dict[str, object] = {"type": "agent_message_content_delta", "delta": "Hel", "item_id": "i"}
    assert told(Event("t", msg)) == [msg, {"type": "agent_message_delta", "delta": "Hel"}]
    assert told(Event("t", {"type": "reasoning_content_delta", "delta": "x"}))[1]["type"] == "agent_reasoning_delta"
    assert told(Event("t", {"type": "task_started"})) == [{"type": "task_started"}]


def test_messages_answers_and_interrupts_are_counted_alike() -> None:
    submissions = Submissions()
    assert submissions.of("first turn") == "0"
    assert submissions.count() == 1  # an answer to a question
    assert submissions.of("first turn") == "0"
    assert submissions.of("second turn") == "2"


@given(st.lists(st.one_of(st.none(), st.integers(0, 20)), max_size=60))
def test_each_turn_keeps_its_number_and_no_number_is_used_twice(steps: list[int | None]) -> None:
    submissions = Submissions()
    counted: list[int] = []
    turns: dict[int, str] = {}
    for step in steps:
        if step is None:
            counted.append(submissions.count())
        else:
            assert submissions.of(str(step)) == turns.setdefault(step, submissions.of(str(step)))
    numbers = [*counted, *map(int, turns.values())]
    assert sorted(numbers) == list(range(len(numbers)))


def test_only_the_newest_turns_are_remembered() -> None:
    submissions = Submissions()
    for turn in range(TURNS_KEPT + 1):
        submissions.of(str(turn))
    assert submissions.of(str(TURNS_KEPT)) == str(TURNS_KEPT)
    assert submissions.of("0") == str(TURNS_KEPT + 1)
