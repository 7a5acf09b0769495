"""What is known of a thread after something has happened."""

import msgspec
from hypothesis import given
from hypothesis import strategies as st
from msgspec import Raw, Struct

from codex_mcp.dashboard.thread.transcript import MOST_STEPS, Told, happened, is_running
from codex_mcp.wire import control
from codex_mcp.wire.control_thread import Plan, PlanStep, Step, Steps, StepTold, TextTold, TurnRow, TurnTold, Usage

KNOWN = Steps(thread="x", turns=[TurnRow(id="t", status="inProgress")], turn="t")


def told(kind: str, data: Struct) -> Told:
    return Told(kind, Raw(msgspec.json.encode(data)))


def started(step_id: str, kind: str = "says", turn: str = "t") -> Told:
    return told(control.ITEM_STARTED, StepTold(turn=turn, step=Step(id=step_id, kind=kind, ended=False)))


def ended(step_id: str, text: str = "", turn: str = "t") -> Told:
    return told(control.ITEM_ENDED, StepTold(turn=turn, step=Step(id=step_id, kind="says", text=text)))


def text(step_id: str, piece: str) -> Told:
    return told(control.ITEM_TEXT, TextTold(turn="t", id=step_id, text=piece))


def after(*happenings: Told, known: Steps = KNOWN) -> Steps:
    for each in happenings:
        known = happened(known, each)
    return known


def test_a_message_grows_and_its_end_counts() -> None:
    known = after(started("a"), text("a", "One "), text("a", "two"))
    assert [(step.text, step.ended) for step in known.steps] == [("One two", False)]
    known = after(ended("a", "One two."), text("a", "late"), started("a"), known=known)
    assert [(step.text, step.ended, step.n) for step in known.steps] == [("One two.", True, 0)]
    assert (known.total, known.turns[0].steps) == (1, 1)


def test_a_command_keeps_the_end_of_its_output() -> None:
    known = after(started("c", "ran"), *(text("c", f"{n}\n") for n in range(50)))
    assert known.steps[0].output.endswith("48\n49\n")
    assert (known.steps[0].lines, known.steps[0].output.count("\n")) == (50, 12)


def test_a_new_turn_begins_with_nothing_and_other_turns_are_not_mixed_in() -> None:
    known = after(ended("a"), told(control.TURN, TurnTold(id="t", status="completed", seconds=2.0)))
    assert not is_running(known)
    known = after(
        told(control.TURN, TurnTold(id="u", status="inProgress")), ended("b"), ended("c", turn="u"), known=known
    )
    assert [(turn.id, turn.status, turn.seconds) for turn in known.turns] == [
        ("t", "completed", 2.0),
        ("u", "inProgress", None),
    ]
    assert [(step.id, step.n) for step in known.steps] == [("c", 0)]


def test_plan_and_usage_replace_what_was_known() -> None:
    known = after(told(control.PLAN, Plan([PlanStep("Look", "completed")])), told(control.USAGE, Usage(total=5)))
    assert (known.plan.steps[0].step, known.usage) == ("Look", Usage(total=5))
    assert after(told("later", Usage()), known=known) == known


def test_the_newest_steps_are_kept_and_all_are_counted() -> None:
    known = after(*(ended(str(n)) for n in range(MOST_STEPS + 100)))
    assert (len(known.steps), known.total, known.first) == (MOST_STEPS, MOST_STEPS + 100, 100)


@given(st.lists(st.tuples(st.sampled_from("abc"), st.sampled_from(["start", "text", "end"])), max_size=30))
def test_everything_can_be_told_twice(order: list[tuple[str, str]]) -> None:
    make = {"start": started, "end": ended, "text": lambda name: text(name, "x")}
    once = after(*(make[kind](name) for name, kind in order))
    again = after(*(make[kind](name) for name, kind in order if kind != "text"), known=once)
    assert [step.id for step in again.steps] == [step.id for step in once.steps]
    assert len({step.id for step in once.steps}) == len(once.steps)
    assert {step.id for step in once.steps if step.n >= 0} == {name for name, kind in order if kind == "end"}
