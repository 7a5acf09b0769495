"""Pure. Which turn a process belongs to, by the variables that Codex sets for its commands."""

from __future__ import annotations

from collections.abc import Container, Mapping
from enum import StrEnum
from typing import Final

THREAD: Final = "CODEX_THREAD_ID"
CALL: Final = "CODEX_TOOL_CALL_ID"
"""Set by Codex for a command: its thread and its item."""


class Belongs(StrEnum):
    """Whether a process belongs to a turn that is being stopped."""

    TO_TURN = "turn"
    ELSEWHERE = "elsewhere"
    """It belongs to another thread, or to another turn of this one."""
    UNKNOWN = "unknown"
    """It has no marks: it cleared its environment, or Codex is too old to set them."""


def belongs(mark: Mapping[str, str], thread_id: str, own: Container[str], others: Container[str] | None) -> Belongs:
    """Whether a process with these marks belongs to the turn.

    `own` are the commands that the core announced for the turn, `others` those of earlier turns. A command that was not
    announced before the interrupt is in neither; it belongs to the turn unless a later turn has started (`others` is
    None).
    """
    thread, call = mark.get(THREAD), mark.get(CALL)
    if thread is None:
        return Belongs.UNKNOWN
    if thread != thread_id:
        return Belongs.ELSEWHERE
    if call is None:
        return Belongs.UNKNOWN
    if call in own:
        return Belongs.TO_TURN
    return Belongs.ELSEWHERE if others is None or call in others else Belongs.TO_TURN
