"""Pure. Who speaks for which session: attach, detach, come back within the time, or be forgotten.

    session is    resume              detach by its holder    detach by another    expire
    ------------  ------------------  ----------------------  -------------------  --------------------------
    attached      AlreadyAttached     -> detached until …     no change            no change
    detached      -> attached         (cannot happen)         no change            gone, once its time is over
    unknown       UnknownSession      no change               no change            no change

Everything happens in one thread and without waiting, so an old connection cannot undo what a new one has done.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Generic, TypeVar

S = TypeVar("S")


class UnknownSession(Exception):
    """There is no session of this id, or not any longer."""


class AlreadyAttached(Exception):
    """Another connection still speaks for this session."""

    def __init__(self, session_id: str, holder: object) -> None:
        super().__init__(session_id)
        self.holder = holder


@dataclass(slots=True)
class _Stay(Generic[S]):
    session: S
    holder: object | None
    until: float | None = None


class Sessions(Generic[S]):
    """All sessions of a server, by id."""

    def __init__(self, retain: float) -> None:
        """`retain` is how long a session outlives its connection, in seconds."""
        self._retain = retain
        self._stays: dict[str, _Stay[S]] = {}

    def __len__(self) -> int:
        return len(self._stays)

    def __repr__(self) -> str:
        attached = sum(stay.holder is not None for stay in self._stays.values())
        return f"<Sessions {attached} attached, {len(self._stays) - attached} detached>"

    def all(self) -> list[S]:
        """Every session there is."""
        return [stay.session for stay in self._stays.values()]

    def open(self, session_id: str, session: S, holder: object) -> None:
        """A new session, held by the connection that asked for it."""
        assert session_id not in self._stays, "session ids are never used twice"
        self._stays[session_id] = _Stay(session, holder)

    def resume(self, session_id: str, holder: object) -> S:
        """Attach this connection to a session that was left. Raises UnknownSession or AlreadyAttached."""
        stay = self._stays.get(session_id)
        if stay is None:
            raise UnknownSession(session_id)
        if stay.holder is not None:
            raise AlreadyAttached(session_id, stay.holder)
        stay.holder, stay.until = holder, None
        return stay.session

    def detach(self, session_id: str, holder: object, now: float) -> S | None:
        """The connection is gone: if it still held the session, leave it and return it."""
        stay = self._stays.get(session_id)
        if stay is None or stay.holder is not holder:
            return None
        stay.holder, stay.until = None, now + self._retain
        return stay.session

    def expire(self, now: float) -> list[S]:
        """Forget every session whose time is over, and return them."""
        over = [key for key, stay in self._stays.items() if stay.until is not None and stay.until <= now]
        return [self._stays.pop(key).session for key in over]
