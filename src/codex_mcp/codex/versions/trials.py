"""Tries a Codex that our tests did not run with, in a process of its own: `codex-mcp doctor --self-test`.

The process works in a home of its own and records its verdict (`verdicts`). Beside the turns of agents it runs at
a lower priority.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
from collections.abc import Callable, Mapping
from typing import Final

from codex_mcp.base.blocking import in_thread
from codex_mcp.base.processes.marks import OURS, RUN_BY, variables
from codex_mcp.base.processes.offspring import AwaitedChild, children, kill_children, no_longer_awaited
from codex_mcp.base.processes.programs import OURSELVES
from codex_mcp.base.settings.kinds import MIB
from codex_mcp.base.tasks import TaskSet
from codex_mcp.codex.versions.verdicts import verdict_on
from codex_mcp.transports.child import start_child

logger = logging.getLogger(__name__)

NICENESS: Final = 10
"""A tenth of what an agent gets if both want the same core."""

HEAD_START: Final = 5.0
"""Seconds in which a trial in the background does not begin: it would slow down the start of Codex and the first call.
Without it, the first call took 0.3 s longer on a busy machine."""

PATIENCE: Final = 180.0
"""Seconds. A trial takes five on an idle machine and gives up by itself after a minute and a half."""


class Trials:
    def __init__(self, codex_home: str, environment: Mapping[str, str]) -> None:
        self._home = codex_home
        self._environment = environment
        self._tasks = TaskSet()
        self._tried: set[str] = set()
        """At this moment. A file that has a verdict is tried again if another Codex is put in its place."""

    def start(self, path: str) -> None:
        """Try this Codex in the background, unless that is happening. The next start of the core can use it."""
        if path not in self._tried:
            self._tried.add(path)
            self._tasks.spawn(self._try_and_tell(path), name=f"trial of {path}")

    async def run(self, path: str, before_exec: Callable[[], None] | None = None) -> None:
        """Try this Codex and wait for the verdict."""
        argv = [*OURSELVES, "doctor", "--self-test", "--json"]
        argv += ["--codex-home", self._home, "--codex-bin", path]
        # The mark: if we are killed, our guard ends the trial.
        child = await start_child(argv, {**self._environment, RUN_BY: OURS}, MIB, before_exec=before_exec)
        with AwaitedChild() as note:  # no command of an agent has left it behind
            note(child.pid)
        try:
            async with asyncio.timeout(PATIENCE):
                await child.wait()
        except TimeoutError:
            logger.warning("the trial of %s has not ended after %g s", path, PATIENCE)
        finally:
            child.kill()
            await child.wait()
            no_longer_awaited(child.pid)
            kill_children(found=_left_by_trials)

    async def _try_and_tell(self, path: str) -> None:
        try:
            await asyncio.sleep(HEAD_START)
            with contextlib.suppress(OSError):
                await self.run(path, _yield_to_agents)
        finally:
            self._tried.discard(path)
        verdict = await in_thread(verdict_on, path, self._home)
        if verdict is None:
            logger.warning("%s could not be tried; `codex-mcp doctor --self-test` shows why", path)
        elif verdict.is_fit:
            logger.warning("%s (Codex %s) has passed the self-test; new servers use it", path, verdict.version)
        elif not verdict.version:
            logger.warning("%s", verdict.why)
        else:
            logger.warning("%s (Codex %s) failed: %s: %s", path, verdict.version, verdict.failed, verdict.why)

    async def aclose(self) -> None:
        await self._tasks.aclose()


def _left_by_trials() -> set[int]:
    """The server of a trial that was ended, and its Codex. We have adopted them."""
    return {pid for pid in children() if variables(pid, (RUN_BY,)).get(RUN_BY) == OURS}


def _yield_to_agents() -> None:
    os.nice(NICENESS)
