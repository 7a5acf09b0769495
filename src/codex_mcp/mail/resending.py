"""Pure. What to do about a message that was sent: nothing more, look again later, or write it again.

    stage      draft   in the inbox   then
    INTENDED   there   –              WRITE: its sender died before the rename
    INTENDED   gone    –              as WRITTEN: its sender died after the rename
    WRITTEN    –       yes            LOOK_AGAIN until the checks are used up, then DONE
    WRITTEN    –       no             WRITE, at most MOST_WRITES times, then GIVE_UP

In an inbox that Claude Code reads, a message that is missing was consumed: what is WRITTEN there is DONE. Everywhere
else messages stay in the file, so a missing one was overwritten by a program that takes no lock.
"""

from __future__ import annotations

from enum import StrEnum
from typing import Final

from msgspec import Struct

CHECKS: Final = (0.3, 2.0)
"""Seconds after a write at which we look whether it is still there. A program that read the file before our write
writes its own version within this time."""

SENDING: Final = 20.0
"""Seconds that a sender may take: longer than it waits for locks. Then it is taken for dead."""

MOST_WRITES: Final = 20


class Stage(StrEnum):
    INTENDED = "intended"
    WRITTEN = "written"


class Action(StrEnum):
    DONE = "done"
    LOOK_AGAIN = "look-again"
    WRITE = "write"
    GIVE_UP = "give-up"


class Sent(Struct, frozen=True, kw_only=True):
    """What is remembered of a message that was sent."""

    stage: Stage
    is_rechecked: bool
    """Whether a missing message means a lost one."""
    checks: int = 0
    """How many checks have found it since the last write."""
    writes: int = 0


def next_action(sent: Sent, *, has_draft: bool, is_there: bool) -> Action:
    if sent.stage is Stage.INTENDED and has_draft:
        return Action.WRITE
    if not sent.is_rechecked:
        return Action.DONE
    if is_there:
        return Action.LOOK_AGAIN if sent.checks + 1 < len(CHECKS) else Action.DONE
    return Action.WRITE if sent.writes < MOST_WRITES else Action.GIVE_UP


def look_after(checks: int) -> float:
    """Seconds until the next check, after this many have found the message."""
    return CHECKS[min(checks, len(CHECKS) - 1)]
