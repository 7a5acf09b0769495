"""Pure. Which turns of a conversation its rollout file has lost, compared with those that Codex has recorded.

Codex keeps an index of a conversation's turns beside the file, and resumes what is left of the file without a word. A
turn is whole if the file has its beginning and its end, and every line in between: lines have consecutive numbers.
A rollback or a fork begins another file, which continues the old one; Codex refuses that file if the old one is cut.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import msgspec
from msgspec import Struct

from codex_mcp.base.timestamps import parse_timestamp
from codex_mcp.wire.app.history import StoredTurn

INDEXED: Final = "paginated"
"""The kind of history that has an index. The turns of any other are listed from the file itself."""

RUNNING: Final = "inProgress"
COMPLETED: Final = "completed"

TOLD_CALLER: Final = (
    "Of all turns of this conversation ({recorded}), {lost} missing or damaged in its file {path}. The agent does not "
    "remember them, and has been told so; tell it again what it needs to know."
)
TOLD_AGENT: Final = (
    "[codex-mcp: of all earlier turns of this conversation ({recorded}), {lost} missing or damaged, because the file "
    "that stores it was damaged. You do not remember what was said and done then, but files that were changed then are "
    "still changed. Look at the files, or ask, before you rely on earlier work.]"
)


class Loss(Struct, frozen=True):
    lost: int
    recorded: int
    """Turns of which Codex has a record, with those that are lost."""
    path: str = ""

    @property
    def is_total(self) -> bool:
        return self.lost == self.recorded

    @property
    def for_caller(self) -> str:
        return TOLD_CALLER.format(recorded=self.recorded, lost=self._lost_are, path=self.path)

    @property
    def for_agent(self) -> str:
        return TOLD_AGENT.format(recorded=self.recorded, lost=self._lost_are)

    @property
    def _lost_are(self) -> str:
        return "1 is" if self.lost == 1 else f"{self.lost} are"


class _Payload(Struct, frozen=True):
    type: str | None = None
    turn_id: str | None = None
    history_mode: str | None = None
    history_base: object = None
    """Where another file ends that this one continues."""
    timestamp: object = None
    """Of the first line: when the file was begun."""


class _Line(Struct, frozen=True):
    type: str
    ordinal: int | None = None
    payload: _Payload = _Payload()


class TurnsKept:
    """What a rollout file holds, line by line."""

    def __init__(self) -> None:
        self.is_indexed = False
        """Whether Codex has a record of the turns that is independent of the file."""
        self._since = 0
        """Milliseconds since 1970: earlier turns are in the file that this one continues."""
        self._begun: set[str] = set()
        self._whole: set[str] = set()
        self._open = ""
        self.was_interrupted = False
        """Its last turn was not completed: it was stopped, or Codex or its server ended while it ran."""
        self._next: int | None = None
        self._is_broken = False

    def read(self, line: bytes) -> None:
        try:
            read = msgspec.json.decode(line, type=_Line)
        except msgspec.ValidationError:  # a line that only another Codex understands
            self.skip()
            return
        except msgspec.DecodeError:
            self._is_broken = True
            return
        self._is_broken |= None not in (self._next, read.ordinal) and read.ordinal != self._next
        self._next = None if read.ordinal is None else read.ordinal + 1
        if read.type == "session_meta":
            self._first_line(read.payload)
        elif read.type == "event_msg" and read.payload.turn_id is not None:
            self._turn_line(read.payload.type, read.payload.turn_id)

    def _first_line(self, payload: _Payload) -> None:
        self.is_indexed = payload.history_mode == INDEXED
        if payload.history_base is not None:
            try:
                self._since = int(parse_timestamp(str(payload.timestamp)) * 1000)
            except ValueError:
                self.is_indexed = False

    def skip(self) -> None:
        """A line that was not read: it may be any line."""
        self.was_interrupted = False
        self._next = None
        if self._open and not self._is_broken:
            self._whole.add(self._open)

    def _turn_line(self, kind: str | None, turn_id: str) -> None:
        if kind == "task_started":
            self._begun.add(turn_id)
            self._open, self._is_broken = turn_id, False
            self.was_interrupted = True
        elif kind == "task_complete" and turn_id == self._open:
            self.was_interrupted = False
            if not self._is_broken:
                self._whole.add(turn_id)

    def loss(self, recorded: Sequence[StoredTurn]) -> Loss | None:
        """What is lost of these turns; None if nothing is, or if there is no index that could tell."""
        lost = [turn for turn in recorded if self._is_own(turn) and not self._has(turn)]
        return Loss(len(lost), len(recorded)) if self.is_indexed and lost else None

    def _has(self, turn: StoredTurn) -> bool:
        if turn.status == RUNNING:
            return True
        return turn.id in (self._whole if turn.status == COMPLETED else self._begun)

    def _is_own(self, turn: StoredTurn) -> bool:
        return not self._since or _born(turn.id) >= self._since


def _born(turn_id: str) -> int:
    """When a turn began: its id begins with its time (UUID version 7). 0 for other ids."""
    digits = turn_id.replace("-", "")
    try:
        return int(digits[:12], 16) if digits[12] == "7" else 0
    except (IndexError, ValueError):
        return 0
