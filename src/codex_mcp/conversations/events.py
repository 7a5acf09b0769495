"""Pure. What a listener is told of an event, and the numbers of submissions.

A listener gets the events of 0.153.4, and after each delta of a message or of a reasoning summary the delta of 0.42.0
as well. An event's id is the number of the submission that began its turn: 0.42.0 counted messages, answers to
questions and interrupts of a conversation alike.
"""

from __future__ import annotations

from collections import OrderedDict
from typing import Final

from codex_mcp.codex.events.translator import Event

OLD_DELTAS: Final = {
    "agent_message_content_delta": "agent_message_delta",
    "reasoning_content_delta": "agent_reasoning_delta",
    "reasoning_raw_content_delta": "agent_reasoning_raw_content_delta",
}

TURNS_KEPT: Final = 128
"""Turns whose number is known: more than a thread can have waiting and ended."""


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

    def of(self, turn: str) -> str:
        """The number of the submission that began this turn. One that is not known yet gets the next."""
        if turn not in self._of:
            self._of[turn] = self.count()
            if len(self._of) > TURNS_KEPT:
                self._of.popitem(last=False)
        return str(self._of[turn])
