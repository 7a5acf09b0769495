"""What happens in one thread, as steps, for those who follow it: gathered for a tenth of a second, and bounded."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Final, TypeAlias

from msgspec import Struct

from codex_mcp.base.secrets.redact import redact
from codex_mcp.codex.core import Told
from codex_mcp.control.steps import step_of
from codex_mcp.mcp.control.transcripts import LONGEST, plan_of, usage_of
from codex_mcp.wire import control
from codex_mcp.wire.app import items, notifications
from codex_mcp.wire.control_thread import StepTold, TextTold, TurnTold

GATHER: Final = 0.1
"""Seconds."""

MOST: Final = 1000
"""Things that wait to be told; beyond that, all of them are dropped, and the follower is told to ask again."""

LONGEST_TEXT: Final = 8 * 1024
"""Characters of one item that are told at once. Of more, the last count."""

Tell: TypeAlias = Callable[[str, Struct], None]
"""Called with the kind of event."""


class LiveSteps:
    """Reads the messages of the core about one thread."""

    def __init__(self, tell: Tell, resync: Callable[[str], None]) -> None:
        self._tell = tell
        self._resync = resync
        self._waiting: list[tuple[str, Struct]] = []
        self._texts: dict[str, tuple[str, list[str]]] = {}
        """Of items, by their ids: the turn, and what was added."""
        self._usage: Struct | None = None
        self._timer: asyncio.TimerHandle | None = None

    def stop(self) -> None:
        if self._timer is not None:
            self._timer.cancel()

    def message_received(self, told: Told) -> None:
        match told:
            case notifications.MessageDelta() | notifications.OutputDelta():
                self._texts.setdefault(told.item_id, (told.turn_id, []))[1].append(told.delta)
            case notifications.ItemStarted(turn_id=turn, item=item):
                self._add(control.ITEM_STARTED, StepTold(turn=turn, step=step_of(item, ended=False)))
            case notifications.ItemCompleted(turn_id=turn, item=item):
                self._texts.pop(item.id, None)  # the end has all of it
                self._add(control.ITEM_ENDED, StepTold(turn=turn, step=step_of(item)))
            case notifications.PatchUpdated(turn_id=turn, item_id=item_id, changes=changes):
                step = step_of(items.FileChange(item_id, changes=changes), ended=False)
                self._add(control.ITEM_STARTED, StepTold(turn=turn, step=step))
            case notifications.UsageUpdated():
                self._usage = usage_of(told)
            case notifications.PlanUpdated():
                self._add(control.PLAN, plan_of(told))
            case notifications.TurnStarted(turn=turn) | notifications.TurnCompleted(turn=turn):
                self._add(control.TURN, _turn(turn))
            case _:
                return
        if self._timer is None:
            self._timer = asyncio.get_running_loop().call_later(GATHER, self._flush)

    def _add(self, kind: str, data: Struct) -> None:
        if len(self._waiting) < MOST:
            self._waiting.append((kind, data))

    def _flush(self) -> None:
        self._timer = None
        waiting, self._waiting = self._waiting, []
        texts, self._texts = self._texts, {}
        usage, self._usage = self._usage, None
        if len(waiting) >= MOST:
            self._resync("slow")
            return
        for kind, data in waiting:
            self._tell(kind, data)
        for item_id, (turn_id, pieces) in texts.items():
            text = "".join(pieces)
            skipped = max(0, len(text) - LONGEST_TEXT)
            shown = redact(text[skipped:])
            self._tell(control.ITEM_TEXT, TextTold(turn=turn_id, id=item_id, text=shown, skipped=skipped))
        if usage is not None:
            self._tell(control.USAGE, usage)


def _turn(turn: items.Turn) -> TurnTold:
    seconds = turn.duration_ms / 1000 if isinstance(turn.duration_ms, int | float) else None
    return TurnTold(
        id=turn.id,
        status=turn.status,
        started_at=turn.started_at if isinstance(turn.started_at, int | float) else None,
        seconds=seconds,
        error="" if turn.error is None else redact(turn.error.message[:LONGEST]),
    )
