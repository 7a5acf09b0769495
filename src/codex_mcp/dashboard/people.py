"""Who makes a request: the user of the server, who came with a code, or a principal, who showed a token."""

from __future__ import annotations

import time

from codex_mcp.access.gate import Admitted
from codex_mcp.base.principals import LOCAL
from codex_mcp.dashboard import guard
from codex_mcp.dashboard.place import Place
from codex_mcp.dashboard.sessions import CODE_SECONDS, Person, Session, Sessions
from codex_mcp.transports.http import Header, HttpExchange


class People:
    def __init__(self, place: Place) -> None:
        self._place = place
        self._sessions = Sessions()

    @property
    def have_tokens(self) -> bool:
        return self._place.access is not None

    def new_code(self, person: str, *, view: bool) -> tuple[str, float]:
        """A code for this person, who is the user of the server, and the seconds for which it works."""
        code = self._sessions.new_code(Person(person, view=view or self._place.view), time.monotonic())
        return code, CODE_SECONDS

    def with_code(self, http: HttpExchange, code: str) -> Session | None:
        return self._sessions.enter(code, http.client, time.monotonic())

    def with_token(self, http: HttpExchange, token: str) -> Session | None:
        """A session of the token's principal. The generated token is none's: a file holds it, which agents can read."""
        access = self._place.access
        headers = {"host": http.headers.get("host", ""), "authorization": f"Bearer {token}"}
        verdict = None if access is None else access.admit(headers, http.client)
        if not isinstance(verdict, Admitted) or verdict.principal == LOCAL:
            return None
        person = Person(verdict.principal, verdict.principal, view=self._place.view, headers=headers)
        return self._sessions.open(person, time.monotonic())

    def session(self, http: HttpExchange) -> Session | None:
        known = guard.cookies(http.headers).get(_cookie_name(http))
        session = None if known is None else self._sessions.find(known, time.monotonic())
        if session is not None and not self.is_valid(session):
            return None
        return session

    def is_valid(self, session: Session) -> bool:
        """Whether a session is open still, and its token valid."""
        if not self._sessions.is_open(session):
            return False
        person, access = session.person, self._place.access
        if person.headers is None:
            return True
        verdict = None if access is None else access.admit(person.headers)
        if isinstance(verdict, Admitted) and verdict.principal == person.principal:
            return True
        self._sessions.end(session)
        return False

    def reader(self, http: HttpExchange) -> Session | None:
        """Whoever sends a bearer token may read, and nothing else: no session is kept."""
        access = self._place.access
        if access is None or "authorization" not in http.headers:
            return None
        verdict = access.admit(http.headers, http.client)
        if not isinstance(verdict, Admitted):
            return None
        return Session(Person(verdict.principal, verdict.principal, view=True), time.monotonic())

    def leave(self, session: Session) -> None:
        self._sessions.end(session)

    def cookie(self, http: HttpExchange, session: Session | None) -> Header:
        """Lets the browser show its session; None makes it forget."""
        value = "" if session is None else session.id
        return guard.cookie(_cookie_name(http), value, secure=http.scheme == "https")


def _cookie_name(http: HttpExchange) -> str:
    """Another server of this host has other sessions, and cookies do not know ports."""
    port = http.headers.get("host", "").rpartition(":")[2]
    return f"codex_mcp_{port if port.isdecimal() else 'web'}"
