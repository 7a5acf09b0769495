"""The process of a core: how it is given up, how it stands still, and why it ended.

The reason is quoted from its stderr:

    stderr has                                  quoted
    ------------------------------------------  --------------------------------------------------
    "Error: …", with or without a backtrace     the last such line
    "thread '…' panicked at …"                  that line, and the message in the line after it
    neither                                     the last line that is not part of a backtrace
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import re
import signal
from collections.abc import Callable, Coroutine
from typing import Any, Final, Protocol, TypeVar

from codex_mcp.base.blocking import in_own_thread, in_thread
from codex_mcp.base.futures import resolve
from codex_mcp.base.processes.marks import SERVED_BY, variables
from codex_mcp.base.processes.standstill import Stopped, end_stopped, let_go_on, stop_all
from codex_mcp.base.processes.termination import end_processes
from codex_mcp.codex.core import Core, CoreError, CoreLost
from codex_mcp.transports.child import Exit
from codex_mcp.wire.app.requests import Initialized

logger = logging.getLogger(__name__)

T = TypeVar("T")

MAX_QUOTED_CHARACTERS: Final = 500

STANDS_STILL: Final = (
    "This server has stopped its Codex, because it could not renew its lease: other servers may take over its agents. "
    "Try again in a moment."
)

TAKEN_OVER: Final = "stood still until another server had taken over agents of this one,"

STOPPING: Final = ("turn/interrupt", "thread/backgroundTerminals/list", "thread/backgroundTerminals/terminate")
"""Requests that a core which stands still finds when it goes on: what was stopped meanwhile must not go on with it."""

_COLOURS: Final = re.compile(r"\x1b\[[0-9;]*[A-Za-z]")
_PANIC: Final = re.compile(r"thread '.*' (\(\d+\) )?panicked at ")
_BACKTRACE_LINE: Final = re.compile(r"\d+: |at |stack backtrace:|note: |\[\.\.\.", re.IGNORECASE)


class CoreProcess:
    """Shared by the conversation with a core and the supervisor of its process."""

    def __init__(self, pid: int, end: Callable[[], None]) -> None:
        self.pid = pid
        self.fault = ""
        """Why the process was given up, if it was."""
        self.is_still = False
        """It was stopped, and does nothing until it goes on."""
        self.stops = 0
        """How often that happened."""
        self._end = end
        self._lost: asyncio.Future[CoreLost] = asyncio.get_running_loop().create_future()

    def __repr__(self) -> str:
        return f"<CoreProcess {self.pid} {self.fault}>"

    def give_up(self, fault: str) -> None:
        """End a process that is no longer reliable. Only the first fault is reported."""
        if not self.fault and not self._lost.done():
            logger.error("core %d is ended: it %s", self.pid, fault)
            self.fault = fault
            self._end()

    def stand_still(self, *, still: bool) -> None:
        self.stops += still and not self.is_still
        self.is_still = still

    def check_asked(self, method: str) -> None:
        """Raise CoreError for a request that would wait until the process goes on."""
        if self.is_still and method not in STOPPING:
            raise CoreError(STANDS_STILL)

    def lost(self, reason: CoreLost) -> None:
        resolve(self._lost, reason)

    async def why_lost(self) -> CoreLost:
        """How it ended: known shortly after its stdout closed, when the supervisor has waited for the process."""
        return await asyncio.shield(self._lost)


class SupervisedCore(Core, Protocol):
    """A core as its supervisor uses it."""

    process: CoreProcess | None
    """Set by the supervisor."""

    @property
    def leaves(self) -> bool: ...

    def run(self) -> Coroutine[Any, Any, None]: ...

    async def aclose(self) -> None: ...

    async def initialize(self) -> Initialized: ...


class Standstill:
    """The cores of a supervisor and all that they have started, while they stand still. Nothing starts meanwhile."""

    def __init__(
        self,
        mark: str,
        orphans: Callable[[], set[int]],
        running: Callable[[], CoreProcess | None],
    ) -> None:
        """`mark`: what identifies their processes by their environment."""
        self._mark = mark
        self._orphans = orphans
        self._running = running
        self._stopping: asyncio.Future[frozenset[Stopped]] | None = None

    @property
    def holds(self) -> bool:
        return self._stopping is not None

    def check(self) -> None:
        """Raise CoreError while it holds."""
        if self.holds:
            raise CoreError(STANDS_STILL)

    def begin(self) -> None:
        """Stop the core at once, and soon all that it has started, until `go_on` or `end`. Repeatable."""
        if self.holds:
            return
        orphans = self._orphans()
        if (running := self._running()) is not None:
            self.include(running.pid)
            running.stand_still(still=True)

        def is_meant(pid: int) -> bool:
            return pid in orphans or variables(pid, (SERVED_BY,)).get(SERVED_BY) == self._mark

        self._stopping = in_own_thread(stop_all, is_meant)  # those of the pool may all be busy

    def include(self, pid: int) -> None:
        """A core that was just started."""
        _tell_group(pid, signal.SIGSTOP)

    async def go_on(self) -> None:
        """Let everything go on."""
        if self._stopping is not None:
            await in_thread(let_go_on, await self._stopping)
            self._stopping = None
            if (running := self._running()) is not None:
                _tell_group(running.pid, signal.SIGCONT)
                running.stand_still(still=False)

    async def end(self) -> None:
        """End everything: another server does its work. The next call starts a new core."""
        if self._stopping is not None:
            if (running := self._running()) is not None:
                running.give_up(TAKEN_OVER)
            await in_thread(end_stopped, await self._stopping)
            await in_thread(end_processes, lambda pid: variables(pid, (SERVED_BY,)).get(SERVED_BY) == self._mark)
            self._stopping = None


def _tell_group(pid: int, number: int) -> None:
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(pid, number)


async def in_time(answer: asyncio.Future[T], patience: float, process: CoreProcess | None) -> T:
    """The answer. TimeoutError, and it is cancelled, after so many seconds in which the process never stood still."""
    try:
        while True:
            stops = 0 if process is None else process.stops
            await asyncio.wait([answer], timeout=patience)
            if answer.done():
                return answer.result()
            if process is None or (process.stops == stops and not process.is_still):
                raise TimeoutError
    finally:
        answer.cancel()


def reason_in(stderr: str) -> str:
    """The line that names the error; empty if none does."""
    lines = _lines(stderr)
    for at in range(len(lines) - 1, -1, -1):
        if lines[at].startswith("Error:"):
            return lines[at][:MAX_QUOTED_CHARACTERS]
        if _PANIC.match(lines[at]):
            is_split = lines[at].endswith(":") and at + 1 < len(lines)  # since Rust 1.73 the message has its own line
            return (f"{lines[at]} {lines[at + 1]}" if is_split else lines[at])[:MAX_QUOTED_CHARACTERS]
    return ""


def last_words(stderr: str) -> str:
    """The line to quote of a program that did not start; empty if it wrote nothing."""
    telling = [line for line in _lines(stderr) if not _BACKTRACE_LINE.match(line)]
    return reason_in(stderr) or (telling[-1][:MAX_QUOTED_CHARACTERS] if telling else "")


def cannot_start(program: str, ended: Exit, why: BaseException) -> str:
    """A sentence for the callers that wait for it."""
    words = last_words(ended.stderr)
    said = f": {words}" if words else ""
    if isinstance(why, TimeoutError):
        return f"cannot start Codex ({program}): it did not answer in time{said}"
    if not isinstance(why, CoreLost):
        return f"cannot start Codex ({program}): {why}"  # it gave a reason; that we then killed it adds nothing
    return f"cannot start Codex ({program}): it ended with {ended}{said}"


def _lines(stderr: str) -> list[str]:
    plain = _COLOURS.sub("", stderr)
    return [line.strip() for line in plain.splitlines() if line.strip()]
