"""Progress notifications of one call: one in every interval, and one when the agent's activity changes.

Clients reset their timeouts on them and show the message to a person. So there is one at least every `interval`
seconds, and not more often than a person can read.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Final

NEWS_INTERVAL: Final = 0.5
"""Seconds between two changes of activity; faster ones would only flicker."""

MESSAGE_CHARS: Final = 200
"""Claude Code shows no more of a progress message."""


class Heartbeat:
    """Runs from construction until `stop()`."""

    def __init__(self, send: Callable[[float, str], None], interval: float, activity: str) -> None:
        self._send = send
        self._interval = interval
        self._loop = asyncio.get_running_loop()
        self._began = self._loop.time()
        self._sent_at = self._began
        self._progress = 0.0
        self._activity = activity
        self._timer = self._loop.call_later(interval, self._beat)

    def activity_changed(self, activity: str) -> None:
        self._activity = activity
        at = max(self._sent_at + NEWS_INTERVAL, self._loop.time())
        if at < self._timer.when() and not self._timer.cancelled():
            self._timer.cancel()
            self._timer = self._loop.call_at(at, self._beat)

    def stop(self) -> None:
        self._timer.cancel()

    def _beat(self) -> None:
        now = self._loop.time()
        self._sent_at = now
        # Elapsed seconds, for clients that show them; they must grow even if the clock is coarse.
        self._progress = max(round(now - self._began, 3), self._progress + 0.001)
        self._send(self._progress, self._activity[:MESSAGE_CHARS])
        self._timer = self._loop.call_at(now + self._interval, self._beat)
