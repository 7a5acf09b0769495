"""What a thread shares with the other threads of its server or of its principal."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any, Protocol

from msgspec import Struct
from msgspec.structs import replace

from codex_mcp.base.settings.calls import CallSettings
from codex_mcp.codex.core import ThreadSpec, TurnSpec
from codex_mcp.git.turn_looks import TurnLooks
from codex_mcp.threads.limits.admission import Admission
from codex_mcp.threads.observers import Observers, TurnListener
from codex_mcp.threads.open_questions import Board
from codex_mcp.threads.record import Status
from codex_mcp.threads.stopping.stopper import Cores
from codex_mcp.threads.turn import Turn


class TurnJournal(Protocol):
    async def sending(self, thread: Any, turn: Turn) -> None:
        """Write down that Codex may have the prompt of this turn from now on. Raises Refused."""


class ThreadContext(Struct, frozen=True):
    settings: CallSettings
    cores: Cores
    listener: TurnListener
    observers: Observers
    principal: str
    account: str
    admission: Admission
    looks: TurnLooks
    board: Board
    journal: TurnJournal | None
    """If turns outlive the server."""
    check_quota: Callable[[TurnSpec], None]
    """Called before a turn is queued; raises Refused if the principal has too much waiting."""

    async def written(self, thread: Any, turn: Turn, told: TurnSpec) -> TurnSpec:
        """What Codex is told, once it is written down that it may know it. Raises Refused."""
        if self.journal is None:
            return told
        await self.journal.sending(thread, turn)
        return replace(told, message_id=turn.name)

    def note_position(self, turn: Turn, spec: ThreadSpec, cwd: str) -> None:
        """Look at the checkout before a turn that may change it."""
        if turn.spec.runs_commands and not spec.is_remote:
            self.looks.begin(turn, cwd)

    def look(self, turn: Turn, spec: ThreadSpec) -> asyncio.Task[None] | None:
        """Its commands run no longer. Find out which files it has changed, if it has completed and may have some."""
        may_have = turn.joins is None and turn.stopped is None and (turn.record.has_changed_files or spec.base)
        if turn.outcome.status is not Status.COMPLETED or not may_have:
            self.looks.end(turn)
            return None
        return self.looks.look(turn, turn.subject, spec.base, turn.record.looked)
