"""Pure. `thread/read`, `thread/turns/list` and `model/list` of `codex app-server`: what is read of past turns."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec
from msgspec import UNSET, Raw, Struct, UnsetType

from codex_mcp.wire.app.items import UNREADABLE, AgentMessage, Failure, Item


class ReadThread(Struct, frozen=True, rename="camel"):
    thread_id: str
    include_turns: bool = False


class ThreadStatus(Struct, frozen=True):
    type: str = ""
    """active, idle or notLoaded, among others"""


class StoredThread(Struct, frozen=True, rename="camel"):
    id: str
    path: str | None = None
    """The rollout file."""
    cwd: str = ""
    preview: str = ""
    """The beginning of the first prompt."""
    status: ThreadStatus = ThreadStatus()


class ReadThreadAnswer(Struct, frozen=True):
    thread: StoredThread


class ListTurns(Struct, frozen=True, rename="camel"):
    thread_id: str
    limit: int
    cursor: str | UnsetType = UNSET
    items_view: str = "full"


class StoredTurn(Struct, frozen=True, rename="camel"):
    id: str
    status: str = "inProgress"
    items: list[Raw] = []
    """Each is one of `items.Item`, or an item that only a newer Codex knows."""
    error: Failure | None = None
    started_at: float | None = None
    """Seconds since 1970."""
    duration_ms: float | None = None

    @property
    def is_running(self) -> bool:
        return self.status == "inProgress"


class TurnsOfThread(Struct, frozen=True):
    """The oldest turn first."""

    id: str
    turns: list[StoredTurn] = []


class ThreadWithTurns(Struct, frozen=True):
    """A part of the answer that opens a thread, or reads it."""

    thread: TurnsOfThread


class TurnPage(Struct, frozen=True, rename="camel"):
    """The newest turn first."""

    data: list[StoredTurn]
    next_cursor: str | None = None


class ListModels(Struct, frozen=True, rename="camel"):
    include_hidden: bool = False


class Model(Struct, frozen=True):
    model: str = ""


class Models(Struct, frozen=True):
    data: list[Model]


def read_items(turn: StoredTurn) -> list[Item]:
    """The items of a turn that this release knows."""
    found = (_item(raw) for raw in turn.items)
    return [item for item in found if item is not None]


def _item(raw: Raw) -> Item | None:
    try:
        item: Item = msgspec.json.decode(raw, type=Item)
    except UNREADABLE:
        return None
    return item


def last_answer(turns: Sequence[StoredTurn]) -> str:
    """The last message of the agent in the last turn that has one."""
    for turn in reversed(turns):
        said = [item.text for item in read_items(turn) if isinstance(item, AgentMessage)]
        if said:
            return said[-1]
    return ""
