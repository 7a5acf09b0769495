"""An answer from a page, on its way to the server whose Codex asks."""

from __future__ import annotations

import contextlib
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from codex_mcp.base.errors import Refused
from codex_mcp.control.asked import Asked
from codex_mcp.control.failures import CannotReach
from codex_mcp.control.questions import NotUsed, find_question, give_answer
from codex_mcp.control.server import Caller
from codex_mcp.dashboard.fleet import Fleet
from codex_mcp.dashboard.views.cards import given_in
from codex_mcp.dashboard.views.forms import Posted
from codex_mcp.wire import control

LONGEST_KEY: Final = 64

EXPIRED: Final = "expired"


class Answered(Struct, frozen=True, kw_only=True):
    """What became of an answer."""

    status: int
    """Of the HTTP answer: 200, or why it was not used."""
    used: bool = False
    sentence: str
    asked: Asked | None = None
    """The question as it is now."""
    state: str | None = None
    by: str = ""
    via: str = ""
    at: float | None = None


async def found(state_dir: str, fleet: Fleet, question_id: str, caller: Caller) -> Asked | None:
    """The question as its server has it now, open or closed within a day.

    Raises CannotReach if none of the servers that answer knows it, and one does not answer.
    """
    survey = await find_question(state_dir, question_id, caller, {})
    if survey.asked:
        return survey.asked[0]
    facts = fleet.facts()
    known = next((each for each in (*facts.asked, *facts.answered) if each.question.id == question_id), None)
    if known is None and survey.unreached:
        raise survey.unreached[0]
    return known


async def answered(state_dir: str, fleet: Fleet, question_id: str, posted: Posted, caller: Caller) -> Answered | None:
    """Give the answer of a posted form; None if there is no such question."""
    try:
        asked = await found(state_dir, fleet, question_id, caller)
    except CannotReach as exc:
        return Answered(status=503, sentence=f"{exc}; nothing was decided")
    if asked is None:
        return None
    receipt = asked.question.receipt
    if receipt is not None and receipt.state == "lost":
        said = f"{receipt.sentence} This answer was not used."
        return Answered(status=409, sentence=said, asked=asked, state=receipt.state, via=receipt.via, at=receipt.at)
    if (silent := fleet.facts().silent_node(asked.node)) is not None:
        return Answered(status=503, sentence=f"{silent.why}; nothing was decided", asked=asked)
    shown, key = ((posted.get(name) or [""])[0] for name in ("shown", "key"))
    try:
        given = given_in(asked.question, posted)
        was_shown = Asked(replace(asked.question, digest=shown), asked.node, asked.server)
        verdict = await give_answer(state_dir, was_shown, given, caller, key=key[:LONGEST_KEY])
    except (Refused, CannotReach, NotUsed) as exc:
        changed = isinstance(exc, NotUsed) and exc.code == control.CHANGED
        status = 409 if changed else 503 if isinstance(exc, CannotReach) else 422
        return Answered(status=status, sentence=str(exc), asked=asked)
    with contextlib.suppress(CannotReach):  # it has ended since: what it said counts
        asked = await found(state_dir, fleet, question_id, caller) or asked
        fleet.told(asked)  # the next page that is opened must not offer it again
    return Answered(
        status=200 if verdict.used else 410 if verdict.state == EXPIRED else 409,
        used=verdict.used,
        sentence=verdict.sentence,
        asked=asked,
        state=verdict.state,
        by=verdict.by,
        via=verdict.via,
        at=verdict.at,
    )
