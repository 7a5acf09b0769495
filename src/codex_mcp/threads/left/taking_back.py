"""Gives a thread the turns that an earlier server has left in it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from msgspec.structs import replace

from codex_mcp.codex.core import Core
from codex_mcp.codex.facts import Fact, Tokens, TokensCounted
from codex_mcp.threads.left.turns import LeftTurn, LeftTurns, facts_in, found_in
from codex_mcp.threads.own.audience import NoCaller
from codex_mcp.threads.token_meter import TokenMeter
from codex_mcp.threads.turn import Turn
from codex_mcp.wire.app.history import StoredTurn


class Host(Protocol):
    """The thread."""

    id: str
    principal: str
    meter: TokenMeter

    def add(self, turn: Turn) -> None:
        """This is its current turn."""

    def queue(self, turn: Turn, *, last: bool = False) -> None:
        """This turn waits for its place."""

    def begin_now(self, turn: Turn) -> None:
        """Its current turn was never begun."""

    def notification_received(self, told: None, fact: Fact | None) -> None:
        """Something has happened in it."""


class TakingBack:
    """The turns of one thread.

    A turn whose prompt was sent and is not there counts as one that is about to begin: then it is the next that begins.
    If it still is not there later, it begins now.
    """

    def __init__(self, host: Host, core: Core, approval_timeout: float) -> None:
        self._host = host
        self._core = core
        self._approval_timeout = approval_timeout
        self._uncertain: tuple[LeftTurn, Turn] | None = None

    @property
    def is_uncertain(self) -> bool:
        """Whether to `look` again."""
        return self._uncertain is not None

    def take(self, left: LeftTurns, turns: Sequence[StoredTurn], counted: TokensCounted | None) -> None:
        """Take back all turns, in order. `counted`: what the thread has used, if none of them runs."""
        for each in left.turns:
            turn = self._turn(each)
            if not each.is_sent:
                self._host.queue(turn)
                continue
            found = found_in(turns, each)
            self._begin(turn, left.total, "" if found is None else found.id)
            if found is None:
                self._uncertain = each, turn
            else:
                self._tell(found, counted)

    def look(self, turns: Sequence[StoredTurn], counted: TokensCounted | None) -> None:
        """By now a prompt that was sent is in the thread."""
        if self._uncertain is None:
            return
        (left, turn), self._uncertain = self._uncertain, None
        if turn.ended or turn.place.turn_id:
            return
        found = found_in(turns, left)
        if found is None:
            self._host.begin_now(turn)
        else:
            self._tell(found, counted)

    def _begin(self, turn: Turn, total: Tokens | None, turn_id: str) -> None:
        turn.ask()
        turn.given_to(self._core)
        self._host.meter.begin_at(total, turn_id)
        self._host.add(turn)

    def _tell(self, found: StoredTurn, counted: TokensCounted | None) -> None:
        for fact in facts_in(self._host.id, found, counted):
            self._host.notification_received(None, fact)

    def _turn(self, left: LeftTurn) -> Turn:
        """As it was, for nobody who is told of it."""
        audience = NoCaller(self._host.principal, self._approval_timeout)
        spec = replace(left.spec, message_id=left.name)
        turn = Turn(self._host.id, spec, audience, full_events=False, source=left.source)
        turn.attribute_to(left.caller)
        turn.set_purpose(left.purpose)
        return turn
