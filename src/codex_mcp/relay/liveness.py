"""Pure. Whether the executor is still there: asked inside the encrypted stream, because a relay can forge all else.

    state    the executor was heard, or cannot be    challenged   nothing for QUIET   nothing for ANSWER
    -------  --------------------------------------  -----------  ------------------  ------------------
    unheard  -> quiet                                no change    no change           no change
    quiet    no change, the time starts again        ASK, asked   ASK, -> asked       -
    asked    -> quiet                                no change    -                   LOST

"Heard" means that a sealed record was opened: acknowledgements and other frames prove nothing. The executor cannot be
heard while this side does not read. Before the first record the caller's own timeout counts.
"""

from __future__ import annotations

from enum import StrEnum
from typing import Final

QUIET: Final = 10.0
"""Seconds without a record until the executor is asked, which happens after at most twice that time. An executor that
has ended the stream says so then, and still has the session, which it keeps for 30 seconds."""

ANSWER: Final = 90.0
"""Seconds for its answer: Codex 0.166.0 answers requests one after another, and some take long."""


class Check(StrEnum):
    FINE = "fine"
    ASK = "ask"
    LOST = "lost"


class Liveness:
    def __init__(self, now: float, quiet: float = QUIET, answer: float = ANSWER) -> None:
        self._quiet = quiet
        self._answer = answer
        self._opened = 0
        self._since = self._checked_at = now
        self._is_asked = False

    @property
    def next_check(self) -> float:
        """Also while an answer is awaited: one that came early starts the time again."""
        return min(self._deadline, self._checked_at + self._quiet)

    def check(self, opened: int, now: float, *, is_reading: bool) -> Check:
        """`opened` records have been opened so far. The caller asks the executor, or ends the stream."""
        self._checked_at = now
        if opened != self._opened or not opened or not is_reading:
            self._opened, self._since, self._is_asked = opened, now, False
        if now < self._deadline:
            return Check.FINE
        return Check.LOST if self._is_asked else self._ask(now)

    def challenged(self, opened: int, now: float) -> Check:
        """The executor wants to know whether we are there: our question is the proof."""
        return self._ask(now) if opened and not self._is_asked else Check.FINE

    @property
    def _deadline(self) -> float:
        return self._since + (self._answer if self._is_asked else self._quiet)

    def _ask(self, now: float) -> Check:
        self._since, self._is_asked = now, True
        return Check.ASK
