"""Pure. Which connection holds which session: attach, detach, resume in time, or expire.

    session is    resume              detach by its holder    detach by another    expire
    ------------  ------------------  ----------------------  -------------------  --------------------------
    attached      AlreadyAttached     -> detached until …     no change            no change
    detached      -> attached         (cannot happen)         no change            gone, once its time is over
    unknown       UnknownSession      no change               no change            no change

All calls come from one thread, so an old connection cannot undo what a new one has done.
"""

from __future__ import annotations

from typing import Generic, TypeVar

from msgspec import Struct

S = TypeVar("S")


class UnknownSession(Exception):
    """There is no session with this id, or it has expired."""


class AlreadyAttached(Exception):
    """Another connection still holds this session."""

    def __init__(self, session_id: str, holder: object) -> None:
        super().__init__(session_id)
        self.holder = holder


class _Entry(Struct, Generic[S]):
    session: S
    holder: object | None
    until: float | None = None


class Sessions(Generic[S]):
    def __init__(self, retain: float) -> None:
        """`retain` is how long a session outlives its connection, in seconds."""
        self._retain = retain
        self._entries: dict[str, _Entry[S]] = {}

    def __len__(self) -> int:
        return len(self._entries)

    def all(self) -> list[S]:
        return [entry.session for entry in self._entries.values()]

    def open(self, session_id: str, session: S, holder: object) -> None:
        assert session_id not in self._entries, "session ids are never used twice"
        self._entries[session_id] = _Entry(session, holder)

    def resume(self, session_id: str, holder: object) -> S:
        """Attach a connection to a detached session. Raises UnknownSession or AlreadyAttached."""
        entry = self._entries.get(session_id)
        if entry is None:
            raise UnknownSession(session_id)
        if entry.holder is not None:
            raise AlreadyAttached(session_id, entry.holder)
        entry.holder, entry.until = holder, None
        return entry.session

    def detach(self, session_id: str, holder: object, now: float) -> S | None:
        """A connection ended: detach its session and return it, unless another connection holds it."""
        entry = self._entries.get(session_id)
        if entry is None or entry.holder is not holder:
            return None
        entry.holder, entry.until = None, now + self._retain
        return entry.session

    def expire(self, now: float) -> list[S]:
        """Forget every session whose time is over; return them."""
        over = [key for key, entry in self._entries.items() if entry.until is not None and entry.until <= now]
        return [self._entries.pop(key).session for key in over]
