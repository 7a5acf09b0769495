"""An answer from a page, on its way to the server whose Codex asks."""

from __future__ import annotations

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
    """The question as its server has it now, open or closed within a day."""
    survey = await find_question(state_dir, question_id, caller, {})
    if survey.asked:
        return survey.asked[0]
    facts = fleet.facts()
    return next((each for each in (*facts.asked, *facts.answered) if each.question.id == question_id), None)


async def answered(state_dir: str, fleet: Fleet, question_id: str, posted: Posted, caller: Caller) -> Answered | None:
    """Give the answer of a posted form; None if there is no such question."""
    asked = await found(state_dir, fleet, question_id, caller)
    if asked is None:
        return None
    shown, key = ((posted.get(name) or [""])[0] for name in ("shown", "key"))
    try:
        given = given_in(asked.question, posted)
        was_shown = Asked(replace(asked.question, digest=shown), asked.node, asked.server)
        verdict = await give_answer(state_dir, was_shown, given, caller, key=key[:LONGEST_KEY])
    except (Refused, CannotReach, NotUsed) as exc:
        changed = isinstance(exc, NotUsed) and exc.code == control.CHANGED
        status = 409 if changed else 503 if isinstance(exc, CannotReach) else 422
        return Answered(status=status, sentence=str(exc), asked=asked)
    now = await found(state_dir, fleet, question_id, caller)
    return Answered(
        status=200 if verdict.used else 409,
        used=verdict.used,
        sentence=verdict.sentence,
        asked=now or asked,
        state=verdict.state,
        by=verdict.by,
        via=verdict.via,
        at=verdict.at,
    )
