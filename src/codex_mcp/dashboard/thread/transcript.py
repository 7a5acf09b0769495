"""Pure. What is known of a thread: a snapshot of its server, and what has happened since.

Everything can be told twice: a step is known by its id, and a turn by its own.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import msgspec
from msgspec import Raw, Struct
from msgspec.structs import replace

from codex_mcp.wire import control
from codex_mcp.wire.control_thread import Plan, Step, Steps, StepTold, TextTold, TurnRow, TurnTold, Usage

MOST_STEPS: Final = 400
"""Steps of the open turn that are kept."""

LONGEST_TEXT: Final = 64 * 1024
LAST_LINES: Final = 12
"""Of a command that runs."""

RUNNING: Final = "inProgress"


class Told(Struct, frozen=True):
    """Something that happened, as it was told."""

    kind: str
    data: Raw


def happened(known: Steps, told: Told) -> Steps:
    """What is known after it. Raises msgspec.MsgspecError for what a later version tells."""
    match told.kind:
        case control.TURN:
            return _turn(known, msgspec.json.decode(told.data, type=TurnTold))
        case control.ITEM_STARTED:
            return _started(known, msgspec.json.decode(told.data, type=StepTold))
        case control.ITEM_TEXT:
            return _text(known, msgspec.json.decode(told.data, type=TextTold))
        case control.ITEM_ENDED:
            return _ended(known, msgspec.json.decode(told.data, type=StepTold))
        case control.USAGE:
            return replace(known, usage=msgspec.json.decode(told.data, type=Usage))
        case control.PLAN:
            return replace(known, plan=msgspec.json.decode(told.data, type=Plan))
        case _:
            return known


def is_running(known: Steps) -> bool:
    return bool(known.turns) and known.turns[-1].status == RUNNING


def _turn(known: Steps, told: TurnTold) -> Steps:
    row = next((each for each in known.turns if each.id == told.id), None)
    now = replace(
        row or TurnRow(id=told.id, status=told.status),
        status=told.status,
        started_at=told.started_at or (row.started_at if row is not None else None),
        seconds=told.seconds,
        error=told.error,
    )
    if row is not None:
        turns = [now if each.id == told.id else each for each in known.turns]
        is_over = told.status != RUNNING and known.turn == told.id
        kept = [step for step in known.steps if step.ended] if is_over else known.steps
        return replace(known, turns=turns, steps=kept)
    return replace(known, turns=[*known.turns, now], turn=told.id, steps=[], first=0, total=0)


def _started(known: Steps, told: StepTold) -> Steps:
    if told.turn != known.turn:
        return known
    before = _step(known, told.step.id)
    if before is None:
        return replace(known, steps=[*known.steps, told.step])
    if before.n >= 0:
        return known
    step = replace(told.step, text=told.step.text or before.text, output=before.output, lines=before.lines)
    return replace(known, steps=_with(known.steps, step))


def _text(known: Steps, told: TextTold) -> Steps:
    step = _step(known, told.id)
    if told.turn != known.turn or (step is not None and step.n >= 0):
        return known
    step = step or Step(id=told.id, kind="says", ended=False)
    if step.kind == "ran":
        output = (step.output + told.text)[-LONGEST_TEXT:].split("\n")
        kept = "\n".join(output[-LAST_LINES - 1 :])
        step = replace(step, output=kept, lines=step.lines + told.text.count("\n"))
    else:
        text = step.text + ("\n…\n" if told.skipped else "") + told.text
        step = replace(step, text=text[:LONGEST_TEXT], cut=step.cut + max(0, len(text) - LONGEST_TEXT))
    steps = _with(known.steps, step) if _step(known, told.id) is not None else [*known.steps, step]
    return replace(known, steps=steps)


def _ended(known: Steps, told: StepTold) -> Steps:
    if told.turn != known.turn:
        return known
    before = _step(known, told.step.id)
    is_new = before is None or before.n < 0
    step = replace(told.step, n=known.total if before is None or before.n < 0 else before.n)
    steps = [*known.steps, step] if before is None else _with(known.steps, step)
    total = known.total + is_new
    dropped = max(0, len(steps) - MOST_STEPS)
    first = steps[dropped].n if dropped and steps[dropped].n >= 0 else known.first
    row = [replace(each, steps=total) if each.id == told.turn else each for each in known.turns]
    return replace(known, turns=row, steps=steps[dropped:], first=first, total=total)


def _step(known: Steps, step_id: str) -> Step | None:
    return next((each for each in reversed(known.steps) if each.id == step_id), None)


def _with(steps: Sequence[Step], step: Step) -> list[Step]:
    return [step if each.id == step.id else each for each in steps]
