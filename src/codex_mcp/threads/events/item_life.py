"""Pure. Decides when an item begins. Codex announces commands and patches before they are approved.

The app-server sends item/started and then asks; 0.153.4 sent exec_command_begin only after the answer. No timer is
needed: a running command has a process id, or is the user's own, while a command that waits for an answer is neither.
A patch begins with the answer or, if no question was asked, with its end.

    state   started        started      asked     approved   output     completed
            (running)      (waiting)
    ------  -------------  -----------  --------  ---------  ---------  -------------------------
    -       -> BEGUN  *    -> HELD      -         -          -          *, if it did run
    HELD    -> BEGUN  *    -> HELD      -> ASKED  -> BEGUN * -> BEGUN * *, if it did run; forgotten
    ASKED   -> BEGUN  *    no change    no change -> BEGUN * -> BEGUN * *, if it did run; forgotten
    BEGUN   no change      no change    no change no change  no change  forgotten

`*` marks the begin. At the end of a turn all items are forgotten except running commands, which may continue.
"""

from __future__ import annotations

from collections.abc import Iterator
from enum import StrEnum
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from codex_mcp.wire.app.items import CommandExecution, FileChange, FileUpdate
from codex_mcp.wire.app.notifications import ItemStarted

MAX_ITEMS: Final = 256
"""Items remembered per thread. Codex runs at most 64 commands. Beyond this limit the oldest is forgotten, and its begin
is sent again just before its end."""


class Life(StrEnum):
    HELD = "held"
    ASKED = "asked"
    BEGUN = "begun"


class Known(Struct):
    """An item that was started and has not completed."""

    note: ItemStarted
    life: Life


class Items:
    """The started, uncompleted items of one thread. A method that returns a note means: send its begin now."""

    def __init__(self) -> None:
        self._known: dict[str, Known] = {}

    def __iter__(self) -> Iterator[Known]:
        return iter(self._known.values())

    def started(self, note: ItemStarted, *, waiting: bool) -> ItemStarted | None:
        """`waiting`: a person may still be asked about the item."""
        known = self._known.get(note.item.id)
        if known is not None and (waiting or known.life is Life.BEGUN):
            return None
        if len(self._known) >= MAX_ITEMS:
            self._known.pop(next(iter(self._known)))
        self._known[note.item.id] = Known(note, Life.HELD if waiting else Life.BEGUN)
        return None if waiting else note

    def asked(self, item_id: str) -> None:
        known = self._known.get(item_id)
        if known is not None and known.life is Life.HELD:
            known.life = Life.ASKED

    def runs(self, item_id: str) -> ItemStarted | None:
        """The item was approved, or produced output."""
        known = self._known.get(item_id)
        if known is None or known.life is Life.BEGUN:
            return None
        known.life = Life.BEGUN
        return known.note

    def patched(self, item_id: str, changes: list[FileUpdate]) -> None:
        """The model extended the patch."""
        known = self._known.get(item_id)
        if known is not None and isinstance(known.note.item, FileChange):
            known.note = replace(known.note, item=replace(known.note.item, changes=changes))

    def completed(self, item_id: str) -> Known | None:
        """Forget the item, and return how far it was."""
        return self._known.pop(item_id, None)

    def find(self, item_id: str) -> Known | None:
        return self._known.get(item_id)

    def turn_ended(self) -> None:
        self._known = {
            item_id: known
            for item_id, known in self._known.items()
            if known.life is Life.BEGUN and isinstance(known.note.item, CommandExecution)
        }
