from hypothesis import given
from hypothesis import strategies as st

from codex_mcp.codex.core import Event
from codex_mcp.conversations.events import ENDINGS, TURNS_KEPT, Endings, Submissions, told
from codex_mcp.threads.record import Outcome, Status


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


def outcome(status: Status) -> Outcome:
    return Outcome("thread", status, "what was said", "", None, (), 0.0)


@given(st.lists(st.sampled_from(ENDINGS)), st.sampled_from([each for each in Status if each is not Status.RUNNING]))
def test_every_turn_ends_with_one_event(came: list[str], status: Status) -> None:
    endings = Endings()
    for kind in came:
        endings.note(Event("turn", {"type": kind}))
        endings.note(Event("another", {"type": "task_complete"}))
    missing = [str(msg["type"]) for msg in endings.missing("turn", outcome(status))]
    has_ended = "task_complete" in came or "turn_aborted" in came
    last = "turn_aborted" if status is Status.INTERRUPTED else "task_complete"
    assert missing[-1:] == ([] if has_ended else [last])
    assert ("error" in missing) == (not has_ended and status is Status.FAILED and "error" not in came)


def test_endings_of_old_turns_are_dropped() -> None:
    endings = Endings()
    for turn in range(TURNS_KEPT + 1):
        endings.note(Event(str(turn), {"type": "task_complete"}))
    assert endings.missing(str(TURNS_KEPT), outcome(Status.COMPLETED)) == []
    assert endings.missing("0", outcome(Status.COMPLETED)) == [
        {"type": "task_complete", "turn_id": "0", "last_agent_message": "what was said"}
    ]
