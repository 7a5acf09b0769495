"""The process of a core: how it is given up, and why it ended.

The reason is quoted from its stderr:

    stderr has                                  quoted
    ------------------------------------------  --------------------------------------------------
    "Error: …", with or without a backtrace     the last such line
    "thread '…' panicked at …"                  that line, and the message in the line after it
    neither                                     the last line that is not part of a backtrace
"""

from __future__ import annotations

import asyncio
import logging
import re
from collections.abc import Callable, Coroutine
from typing import Any, Final, Protocol

from codex_mcp.base.futures import resolve
from codex_mcp.codex.core import Core, CoreLost
from codex_mcp.transports.child import Exit
from codex_mcp.wire.app.requests import Initialized

logger = logging.getLogger(__name__)

MAX_QUOTED_CHARACTERS: Final = 500

_COLOURS: Final = re.compile(r"\x1b\[[0-9;]*[A-Za-z]")
_PANIC: Final = re.compile(r"thread '.*' (\(\d+\) )?panicked at ")
_BACKTRACE_LINE: Final = re.compile(r"\d+: |at |stack backtrace:|note: |\[\.\.\.", re.IGNORECASE)


class CoreProcess:
    """Shared by the conversation with a core and the supervisor of its process."""

    def __init__(self, pid: int, end: Callable[[], None]) -> None:
        self.pid = pid
        self.fault = ""
        """Why the process was given up, if it was."""
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
