"""Pure. One thread of an old Codex: the calls that read its events, the running turn, and whether it can continue.

An old Codex sends the events of a thread only while a call reads them. A call is a reader until it is answered. All
readers of a thread share one queue, so any of them may receive the answer.

    received             idle                  starting                 running
    -------------------  --------------------  -----------------------  -----------------------------------------
    a call is sent       starting              -                        -
    task_started         running               running                  running, the newer turn
    its end              idle                  idle                     idle
    an answer, other     no change             no change                no change: the others receive the end
    readers remain
    an answer to the     idle                  idle; the turn never     idle; the turn's end is never received, and the
    last reader                                began                    thread is spoiled

A cancelled call is never answered: it stays a reader, which is harmless because events carry the id of their turn. An
error of the model is not harmless: the call is answered before the end of its turn is read, and that end would answer
the next call. Such a thread is spoiled: its next prompt would run unseen.
"""

from __future__ import annotations

from typing import Final

from msgspec import Struct

from codex_mcp.codex.core import ThreadSpec
from codex_mcp.wire.jsonrpc import Id
from codex_mcp.wire.legacy import TokenCounts

ANNOUNCEMENTS_KEPT: Final = 64
"""Announced questions per turn; far more than a turn asks at once."""


class Unheard(Struct, frozen=True):
    """The turn whose end will not be reported, because no call reads the thread any longer; "" if it had not begun."""

    turn_id: str


class LegacyThread:
    """One thread. Its id changes once, when Codex assigns one."""

    def __init__(self, thread_id: str, spec: ThreadSpec) -> None:
        self.id = thread_id
        self.spec = spec
        self.is_named = False
        """Codex has assigned this id, with the first turn."""
        self.is_spoiled = False
        self.turn_id = ""
        """The running turn."""
        self.is_unwanted = False
        """The caller of the newest turn gave up before the turn began: it is stopped as soon as it begins."""
        self.failure = ""
        """Why the running turn failed, in case its end does not say."""
        self.questions: dict[Id, None] = {}
        """Unanswered requests of Codex."""
        self.commands: dict[str, None] = {}
        """Item ids of the newest turn's commands that have not ended."""
        self._is_starting = False
        self._readers: dict[Id, None] = {}
        self._announced: dict[str, dict[str, object]] = {}
        self._used = TokenCounts()

    def __repr__(self) -> str:
        state = "starting" if self._is_starting else self.turn_id or "idle"
        return f"<LegacyThread {self.id} {state}, {len(self._readers)} readers>"

    @property
    def is_busy(self) -> bool:
        """A prompt sent now would go into a running turn."""
        return self._is_starting or bool(self.turn_id)

    @property
    def newest_call(self) -> Id | None:
        """The call to cancel in order to stop the running turn."""
        return next(reversed(self._readers), None)

    def named(self, thread_id: str) -> None:
        self.id = thread_id
        self.is_named = True

    def sent(self, call: Id) -> None:
        self._readers[call] = None
        self._is_starting = True
        self.is_unwanted = False

    def reads(self, call: Id) -> bool:
        return call in self._readers

    def started(self, turn_id: str) -> None:
        self.turn_id = turn_id
        self._is_starting = False
        self.failure = ""
        self.commands.clear()

    def ended(self, turn_id: str) -> bool:
        """Return whether this was the running turn."""
        if turn_id != self.turn_id:
            return False
        self._rest()
        return True

    def answered(self, call: Id, *, failed: bool) -> Unheard | None:
        """Return the turn whose end will not be reported, if any."""
        self._readers.pop(call, None)
        if self._readers or not self.is_busy:
            return None
        unheard = Unheard(self.turn_id)
        # A successful answer before the turn began belongs to an earlier turn.
        self.is_spoiled = bool(self.turn_id) or not failed
        self._rest()
        return unheard

    def announced(self, call_id: str, msg: dict[str, object]) -> None:
        """Remember details that the question with this call id will omit."""
        self._announced[call_id] = msg
        if len(self._announced) > ANNOUNCEMENTS_KEPT:
            del self._announced[next(iter(self._announced))]

    def announcement(self, call_id: str) -> dict[str, object]:
        return self._announced.pop(call_id, {})

    def used(self, total: TokenCounts) -> TokenCounts | None:
        """The tokens used since the last count; None if the same count was repeated."""
        before, self._used = self._used, total
        if total == before:
            return None
        return TokenCounts(*(max(0, now - was) for now, was in zip(_fields(total), _fields(before), strict=True)))

    def _rest(self) -> None:
        self.turn_id = ""
        self._is_starting = False
        self._announced.clear()


def _fields(counts: TokenCounts) -> tuple[int, ...]:
    return tuple(getattr(counts, name) for name in counts.__struct_fields__)
