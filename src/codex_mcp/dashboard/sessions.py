"""Who is signed in: codes that work once, and sessions. Both are in memory only: no file can decide anything."""

from __future__ import annotations

import hmac
import secrets
from collections.abc import Mapping
from typing import Final

from msgspec import Struct

from codex_mcp.access.rates import FailedLogins
from codex_mcp.base.principals import LOCAL, PERSON
from codex_mcp.transports.budgets import Budget, Rank, Use

CODE_SECONDS: Final = 60.0
"""For which a code works."""

IDLE_SECONDS: Final = 12 * 3600.0
"""After which an unused session ends."""

ALPHABET: Final = "abcdefghjkmnpqrstuvwxyz"
CODE_LETTERS: Final = 8
"""36 bits. Tries are limited, and a code lives for a minute."""

MOST_CODES: Final = 16
"""Beyond these, the oldest one ends."""

MOST_SESSIONS: Final = 64
"""Beyond these, one ends as `budgets` says: no principal signs another one out."""

MOST_STREAMS: Final = 4
"""Of one session. A browser opens six connections to one host, and needs some for pages."""


MOST_KEPT: Final = 100

MOST_SEEN: Final = 1000


class Person(Struct, frozen=True):
    """Who looks at the pages, and what they may do."""

    name: str
    principal: str | None = None
    """None is the operator: the user of the server, who sees all principals."""
    view: bool = False
    writes_as: str = PERSON
    """The name under which they write mail."""
    headers: Mapping[str, str] | None = None
    """Of the request that showed a token: the session ends when that is not valid any more."""


class Session:
    def __init__(self, person: Person, now: float, seen: dict[str, float] | None = None) -> None:
        self.id = secrets.token_urlsafe(32)
        self.csrf = secrets.token_urlsafe(16)
        """In every form, so that only our pages can send one."""
        self.number = secrets.token_hex(4)
        """By which a list names it: it lets nobody in."""
        self.person = person
        self.seen = {} if seen is None else seen
        """Results and failures that the person has seen: by codex_id, when the agent was used last. All browsers of
        one person have the same."""
        self.kept: dict[str, object] = {}
        """What pages keep for the person, by names of their own: comments that are not sent yet, what was done."""
        self._used_at = now

    def keep(self, name: str, value: object) -> None:
        self.kept[name] = value
        while len(self.kept) > MOST_KEPT:
            del self.kept[next(iter(self.kept))]

    @property
    def use(self) -> Use:
        return Use(Rank.IDLE, self._used_at)

    def idle(self, now: float) -> float:
        """Seconds since it was used."""
        return now - self._used_at

    def touch(self, now: float) -> None:
        self._used_at = now

    def is_over(self, now: float) -> bool:
        return now - self._used_at >= IDLE_SECONDS

    def sent_by_us(self, token: str) -> bool:
        return hmac.compare_digest(token.encode(), self.csrf.encode())

    def see(self, codex_id: str, used_at: float) -> None:
        self.seen.pop(codex_id, None)
        self.seen[codex_id] = used_at
        while len(self.seen) > MOST_SEEN:
            del self.seen[next(iter(self.seen))]


class Sessions:
    """Times are seconds of a clock that does not go back."""

    def __init__(self) -> None:
        self._codes: dict[str, tuple[Person, float]] = {}
        self._sessions: dict[str, Session] = {}
        self._seen: dict[str | None, dict[str, float]] = {}
        """By principal; None is the operator."""
        self._failed = FailedLogins()

    def new_code(self, person: Person, now: float) -> str:
        code = "".join(secrets.choice(ALPHABET) for _ in range(CODE_LETTERS))
        self._codes[code] = person, now + CODE_SECONDS
        while len(self._codes) > MOST_CODES:
            del self._codes[next(iter(self._codes))]
        return code

    def enter(self, code: str, address: str, now: float) -> Session | None:
        """A session for whoever has this code, which works no second time; None if it is unknown or too old."""
        self._codes = {each: kept for each, kept in self._codes.items() if now < kept[1]}
        if self._failed.wait(address, now) > 0:
            return None
        found = self._codes.pop(code.strip().lower(), None)
        if found is None:
            self._failed.failed(address, now)
            return None
        return self.open(found[0], now)

    def open(self, person: Person, now: float) -> Session:
        session = Session(person, now, self._seen.setdefault(person.principal, {}))
        self._sessions[session.id] = session
        budget: Budget[str] = Budget(MOST_SESSIONS)
        for each in self._sessions.values():
            budget.hold(each.id, each.person.principal or LOCAL)
        gone = budget.to_go(session.id, lambda each: self._sessions[each].use)
        if gone is not None:
            del self._sessions[gone]
        return session

    def find(self, session_id: str, now: float) -> Session | None:
        session = self._sessions.get(session_id)
        if session is None or session.is_over(now):
            self._sessions.pop(session_id, None)
            return None
        session.touch(now)
        return session

    def of(self, principal: str | None) -> list[Session]:
        """Those that this principal may see: its own, and without one, all."""
        return [each for each in self._sessions.values() if principal in (None, each.person.principal)]

    def end(self, session: Session) -> None:
        self._sessions.pop(session.id, None)

    def is_open(self, session: Session) -> bool:
        return session.id in self._sessions
