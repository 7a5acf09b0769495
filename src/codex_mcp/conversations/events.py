"""Pure. What a listener is told of an event, and the numbers of submissions.

A listener gets the events of 0.153.4, and after each delta of a message or of a reasoning summary the delta of 0.42.0
as well. An event's id is the number of the submission that began its turn: 0.42.0 counted messages, answers to
questions and interrupts of a conversation alike.
"""

from __future__ import annotations

from collections import OrderedDict
from typing import Final

from codex_mcp.codex.core import Event
from codex_mcp.conversations.refusals import without_tools
from codex_mcp.threads.record import Outcome, Status

OLD_DELTAS: Final = {
    "agent_message_content_delta": "agent_message_delta",
    "reasoning_content_delta": "agent_reasoning_delta",
    "reasoning_raw_content_delta": "agent_reasoning_raw_content_delta",
}

TURNS_KEPT: Final = 128
"""Turns whose number is known: more than a thread can have waiting and ended."""

ENDINGS: Final = ("error", "task_complete", "turn_aborted")


def told(event: Event) -> list[dict[str, object]]:
    """The messages for a listener."""
    old = OLD_DELTAS.get(str(event.msg.get("type")))
    return [event.msg] if old is None else [event.msg, {"type": old, "delta": event.msg.get("delta", "")}]


class Submissions:
    """The numbers of one conversation's submissions."""

    def __init__(self) -> None:
        self._next = 0
        self._of: OrderedDict[str, int] = OrderedDict()

    def count(self) -> int:
        """Number a submission."""
        number, self._next = self._next, self._next + 1
        return number

    def __contains__(self, turn: str) -> bool:
        return turn in self._of

    def of(self, turn: str) -> str:
        """The number of the submission that began this turn. One that is not known yet gets the next."""
        if turn not in self._of:
            self._of[turn] = self.count()
            if len(self._of) > TURNS_KEPT:
                self._of.popitem(last=False)
        return str(self._of[turn])


class Endings:
    """Which turns of one conversation have ended with an event of Codex."""

    def __init__(self) -> None:
        self._told: OrderedDict[tuple[str, str], None] = OrderedDict()

    def note(self, event: Event) -> None:
        kind = str(event.msg.get("type"))
        if kind in ENDINGS:
            self._told[event.turn_id, kind] = None
            if len(self._told) > TURNS_KEPT:
                self._told.popitem(last=False)

    def missing(self, turn_id: str, outcome: Outcome) -> list[dict[str, object]]:
        """The events that listeners have yet to get for a turn that has ended."""
        told = {kind for kind in ENDINGS if (turn_id, kind) in self._told}
        if told & {"task_complete", "turn_aborted"}:
            return []
        if outcome.status is Status.INTERRUPTED:
            return [{"type": "turn_aborted", "turn_id": turn_id, "reason": "interrupted"}]
        is_failure = outcome.status is Status.FAILED
        error: list[dict[str, object]] = [{"type": "error", "message": without_tools(outcome.content)}]
        said = None if is_failure else outcome.content
        end: dict[str, object] = {"type": "task_complete", "turn_id": turn_id, "last_agent_message": said}
        return [*(error if is_failure and "error" not in told else []), end]
