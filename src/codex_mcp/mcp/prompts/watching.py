"""Notices changed prompts, for the clients that have listed them: compares the files every two seconds.

Polling, because a folder that does not exist yet cannot be watched, editors replace files instead of writing them, and
a folder may lie on a network. Clients with the same folders share one poll; without a client there is none.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from typing import Final, TypeAlias

from codex_mcp.base.blocking import in_thread
from codex_mcp.base.logs import Subject, about_only, current_subject
from codex_mcp.mcp.prompts.folders import Mark, mark_of

logger = logging.getLogger(__name__)

INTERVAL: Final = 2.0
"""Seconds between two looks. A person who saved a prompt needs longer to switch to the client."""

MAX_POLLS: Final = 64
"""Sets of folders that are watched at once; each costs a look at its files every two seconds."""

Folders: TypeAlias = tuple[str, ...]
Listener: TypeAlias = Callable[[], None]
"""Called after each change. It must not raise."""


class _Poll:
    """Looks at some folders every few seconds. It is a timer and no task, so that it can be stopped at once."""

    def __init__(self, folders: Folders, seen: tuple[Mark, ...], interval: float) -> None:
        self.listeners: list[Listener] = []
        self._folders = folders
        self._seen = seen
        self._interval = interval
        self._loop = asyncio.get_running_loop()
        self._timer = self._loop.call_later(interval, self._look)

    def stop(self) -> None:
        self._timer.cancel()

    def _look(self) -> None:
        in_thread(_marks, self._folders).add_done_callback(self._looked)

    def _looked(self, marks: asyncio.Future[tuple[Mark, ...]]) -> None:
        if marks.cancelled() or marks.exception() is not None or not self.listeners:
            return
        if marks.result() != self._seen:
            self._seen = marks.result()
            for listener in tuple(self.listeners):
                listener()
        self._timer = self._loop.call_later(self._interval, self._look)


class PromptWatch:
    def __init__(self, interval: float | None = None) -> None:
        self._interval = INTERVAL if interval is None else interval
        self._polls: dict[Folders, _Poll] = {}

    def __len__(self) -> int:
        """How many polls there are."""
        return len(self._polls)

    async def add(self, folders: Folders, listener: Listener) -> None:
        """Tell this listener all later changes of these folders; none if too many folders are watched already."""
        if folders not in self._polls:
            if len(self) >= MAX_POLLS:
                logger.warning("too many folders are watched: changed prompts in %s are not reported", folders)
                return
            seen = await in_thread(_marks, folders)
            if folders not in self._polls:
                # It serves many sessions; a folder that does not answer takes threads of the principal that named it.
                with about_only(Subject(principal=current_subject().principal)):
                    self._polls[folders] = _Poll(folders, seen, self._interval)
        self._polls[folders].listeners.append(listener)

    def remove(self, folders: Folders, listener: Listener) -> None:
        """Stop telling this listener. The poll ends with its last one."""
        poll = self._polls.get(folders)
        if poll is not None and listener in poll.listeners:
            poll.listeners.remove(listener)
            if not poll.listeners:
                del self._polls[folders]
                poll.stop()


def _marks(folders: Folders) -> tuple[Mark, ...]:
    return tuple(mark_of(folder) for folder in folders)
