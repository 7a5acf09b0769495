"""Pure. Which turn a process belongs to, by what Codex wrote into the environment of its command."""

from __future__ import annotations

from collections.abc import Container, Mapping
from enum import StrEnum
from typing import Final

THREAD: Final = "CODEX_THREAD_ID"
CALL: Final = "CODEX_TOOL_CALL_ID"
"""Given by Codex to a command: its thread, and its item."""


class Belongs(StrEnum):
    """Where a process comes from, seen from a turn that is stopped."""

    TO_TURN = "turn"
    ELSEWHERE = "elsewhere"
    """To another thread, or to another turn of this one."""
    UNKNOWN = "unknown"
    """It has no marks: it cleared its environment, or Codex is too old to set them."""


def belongs(mark: Mapping[str, str], thread_id: str, own: Container[str], others: Container[str] | None) -> Belongs:
    """Where a process with these marks comes from.

    `own` are the commands that the core has announced for the turn, `others` those of earlier turns. A command that the
    core was stopped from announcing is in neither. It is the turn's, unless `others` is None: a later turn has begun.
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
