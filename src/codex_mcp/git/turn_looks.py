"""Looks at checkouts after turns, in threads and for a limited time. A turn that changed nothing costs nothing."""

from __future__ import annotations

import asyncio
import logging
import os
import time
from collections.abc import Callable, Iterable
from typing import Final, TypeAlias
from weakref import WeakKeyDictionary, WeakSet

from msgspec.structs import replace

from codex_mcp.base.blocking import in_thread
from codex_mcp.base.errors import Explained
from codex_mcp.base.git import position_of
from codex_mcp.base.logs import Subject, stay_about
from codex_mcp.base.tasks import TaskSet
from codex_mcp.codex.facts import FileChange
from codex_mcp.git.start import StartPoint
from codex_mcp.git.worktree import WorkDone

logger = logging.getLogger(__name__)

PATIENCE: Final = 15.0
"""Seconds that an answer waits for the look at its files."""

TOO_MANY: Final = "More than {} files were changed; filesChanged has the first ones."

Looked: TypeAlias = Callable[[Iterable[FileChange], WorkDone | None, str | None], None]


class TurnLooks:
    def __init__(self, codex_home: str) -> None:
        self._codex_home = codex_home
        self._starts: WeakKeyDictionary[object, StartPoint] = WeakKeyDictionary()
        self._running: WeakSet[object] = WeakSet()
        self._looked_at: WeakSet[object] = WeakSet()
        """Turns that have ended, while git looks at what they have left."""
        self._overlapping: WeakSet[object] = WeakSet()
        """Turns of which another one in the same checkout may have changed files."""
        self._tasks = TaskSet()
        self._is_closed = False

    def begin(self, turn: object, cwd: str) -> None:
        """Note where the checkout around this folder stands before the turn begins."""
        position = position_of(cwd)
        if position is None:
            return
        self._starts[turn] = StartPoint(position, time.time_ns())
        others = self._beside(self._running, position.root)
        if others:
            self._overlapping.update([turn, *others])
        self._overlapping.update(self._beside(self._looked_at, position.root))
        self._running.add(turn)

    def _beside(self, turns: Iterable[object], root: str) -> list[object]:
        return [turn for turn in turns if self._starts[turn].position.root == root]

    def end(self, turn: object) -> None:
        """Its commands run no longer."""
        self._running.discard(turn)

    def start_of(self, turn: object) -> StartPoint | None:
        """Where its checkout stood when it began; None outside of git."""
        return self._starts.get(turn)

    def look(self, turn: object, subject: Subject, base: str | None, looked: Looked) -> asyncio.Task[None] | None:
        """Its commands run no longer: look at what has changed since it began, and, with a `base`, since that commit.

        None: no repository. The log says that it is about `subject`.
        """
        self._running.discard(turn)
        start = self._starts.get(turn)
        if start is None or self._is_closed:
            return None
        self._looked_at.add(turn)
        return self._tasks.spawn(self._look(turn, start, subject, base, looked), name=f"look at {start.position.root}")

    async def _look(self, turn: object, start: StartPoint, subject: Subject, base: str | None, looked: Looked) -> None:
        stay_about(subject)  # the core's own task tells of the end, on behalf of nobody
        try:
            async with asyncio.timeout(PATIENCE):
                files, work, warning = await in_thread(_seen, start, base, self._codex_home)
                is_alone = turn not in self._overlapping
                looked([replace(file, is_certain=is_alone) for file in files], work, warning)
        except (Explained, OSError, ValueError, TimeoutError) as exc:
            why = str(exc) or f"git took longer than {PATIENCE:g} s"
            logger.warning("cannot see what commands changed in %s: %s", start.position.root, why)
            looked((), None, f"filesChanged has patches only: {why}")
        finally:
            self._looked_at.discard(turn)

    async def aclose(self) -> None:
        self._is_closed = True
        await self._tasks.aclose()


def _seen(start: StartPoint, base: str | None, codex_home: str) -> tuple[list[FileChange], WorkDone | None, str | None]:
    from codex_mcp.git.looking import MOST_FILES, changed_since, work_since  # noqa: PLC0415  not at the server's start
    from codex_mcp.git.publishing import publish_from  # noqa: PLC0415  not at the server's start

    warnings = [] if base is None else list(publish_from(start.position.root))
    seen = changed_since(start, codex_home)
    root = os.fsencode(start.position.root)
    files = [
        FileChange(os.path.join(root, each.path).decode(errors="replace"), each.kind, each.added, each.removed)
        for each in seen.files
    ]
    work = None if base is None else work_since(start.position.root, base, codex_home)
    warnings += [TOO_MANY.format(MOST_FILES)] if seen.is_cut else []
    return files, work, " ".join(warnings) or None
