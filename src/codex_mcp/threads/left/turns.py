"""Pure. Turns that an earlier server has left, and what became of each meanwhile.

    what was written of it   among the turns of the thread   it
    ----------------------   -----------------------------   -------------------------------------------------------
    it waits                 -                               waits again
    it is sent               by its id, and it runs          runs
    it is sent               by its id, and it has ended     has ended
    it is sent               not found                       has never begun, if it is not found a second later either

A turn is found by the id of its prompt, which Codex gives back, or by its own id.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Final

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from codex_mcp.codex.core import TurnSpec
from codex_mcp.codex.facts import (
    ApprovalReviewed,
    GoalChanged,
    QuestionWithdrawn,
    ThreadUnloaded,
    Tokens,
    TokensCounted,
    TurnEnded,
    TurnFact,
    TurnStarted,
    fact_of,
)
from codex_mcp.codex.reading import read_notification
from codex_mcp.threads.turn_queue import Source
from codex_mcp.wire.app.history import StoredTurn, read_items
from codex_mcp.wire.app.items import UserMessage

OF_NO_TURN: Final = (QuestionWithdrawn, GoalChanged, ApprovalReviewed, ThreadUnloaded)


class LeftTurn(Struct, frozen=True):
    """What is written of a turn before it is sent, and when it has begun."""

    name: str
    spec: TurnSpec
    source: Source = Source.CALLER
    is_sent: bool = False
    """Codex may have its prompt."""
    turn_id: str = ""
    caller: str = ""
    purpose: str = "turn"


class LeftTurns(Struct, frozen=True):
    """The turns of one thread, in order."""

    turns: tuple[LeftTurn, ...]
    total: Tokens | None = None
    """What the thread had used before the first one was sent."""


def found_in(turns: Sequence[StoredTurn], left: LeftTurn) -> StoredTurn | None:
    """The turn that became of it; None if it is not among these."""
    return next((turn for turn in reversed(turns) if _is_same(turn, left)), None)


def _is_same(turn: StoredTurn, left: LeftTurn) -> bool:
    if left.turn_id and turn.id == left.turn_id:
        return True
    return any(isinstance(item, UserMessage) and item.client_id == left.name for item in read_items(turn))


def facts_in(thread_id: str, turn: StoredTurn, counted: TokensCounted | None) -> Iterator[TurnFact]:
    """What a server would have been told of this turn until now. `counted`: how much it has used, if it has ended."""
    yield TurnStarted(turn.id, turn.id)
    for raw in turn.items:
        yield from _facts_of(thread_id, turn.id, raw)
    if not turn.is_running:
        if counted is not None:
            yield replace(counted, turn_id=turn.id)
        params = {"threadId": thread_id, "turn": {"id": turn.id, "status": turn.status, "error": turn.error}}
        yield from _told("turn/completed", params, TurnEnded(turn.id, turn.status, None))


class _Item(Struct, frozen=True):
    status: str | None = None


def _facts_of(thread_id: str, turn_id: str, raw: msgspec.Raw) -> Iterator[TurnFact]:
    params = {"threadId": thread_id, "turnId": turn_id, "item": raw}
    try:
        item = msgspec.json.decode(raw, type=_Item)
    except msgspec.MsgspecError:
        return
    yield from _told("item/started", params)
    if item.status != "inProgress":
        yield from _told("item/completed", params)


def _told(method: str, params: object, otherwise: TurnFact | None = None) -> Iterable[TurnFact]:
    note = read_notification(method, msgspec.Raw(msgspec.json.encode(params)))
    fact = None if note is None else fact_of(note)
    if fact is None or isinstance(fact, OF_NO_TURN):
        return [] if otherwise is None else [otherwise]
    return [fact]
