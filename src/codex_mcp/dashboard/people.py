"""Who makes a request: the user of the server, who came with a code, or a principal, who showed a token."""

from __future__ import annotations

import time

from codex_mcp.access.gate import Admitted
from codex_mcp.base.principals import LOCAL, PERSON
from codex_mcp.dashboard import guard
from codex_mcp.dashboard.place import Place
from codex_mcp.dashboard.sessions import CODE_SECONDS, Person, Session, Sessions
from codex_mcp.dashboard.views.facts import Browser
from codex_mcp.transports.http import Header, HttpExchange


class People:
    def __init__(self, place: Place) -> None:
        self._place = place
        self._sessions = Sessions()

    @property
    def have_tokens(self) -> bool:
        return self._place.access is not None

    def new_code(self, person: str, *, view: bool, writes_as: str = "") -> tuple[str, float]:
        """A code for this person, who is the user of the server, and the seconds for which it works."""
        known = Person(person, view=view or self._place.view, writes_as=writes_as or PERSON)
        return self._sessions.new_code(known, time.monotonic()), CODE_SECONDS

    def browsers(self, session: Session) -> list[Browser]:
        """The sessions that the person of this one may see."""
        now, seen = time.monotonic(), self._sessions.of(session.person.principal)
        return [
            Browser(each.number, each.person.name, each.person.view, each is session, each.idle(now)) for each in seen
        ]

    def end(self, session: Session, number: str) -> Session | None:
        """End the session of this number, if the person of `session` may see it."""
        found = next((each for each in self._sessions.of(session.person.principal) if each.number == number), None)
        if found is not None:
            self._sessions.end(found)
        return found

    def with_code(self, http: HttpExchange, code: str) -> Session | None:
        return self._sessions.enter(code, http.client, time.monotonic())

    def with_token(self, http: HttpExchange, token: str) -> Session | None:
        """A session of the token's principal. The generated token is none's: a file holds it, which agents can read."""
        access = self._place.access
        headers = {"host": http.headers.get("host", ""), "authorization": f"Bearer {token}"}
        verdict = None if access is None else access.admit(headers, http.client)
        if not isinstance(verdict, Admitted) or verdict.principal == LOCAL:
            return None
        name = verdict.principal
        person = Person(name, name, view=self._place.view, writes_as=name, headers=headers)
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
        name = verdict.principal
        return Session(Person(name, name, view=True, writes_as=name), time.monotonic())

    def leave(self, session: Session) -> None:
        self._sessions.end(session)

    def cookie(self, http: HttpExchange, session: Session | None) -> Header:
        """Lets the browser show its session; None makes it forget."""
        value = "" if session is None else session.id
        forwarded = http.headers.get("x-forwarded-proto", "")  # of a proxy that speaks HTTPS for us
        return guard.cookie(_cookie_name(http), value, secure="https" in (http.scheme, forwarded))


def _cookie_name(http: HttpExchange) -> str:
    """Another server of this host has other sessions, and cookies do not know ports."""
    port = http.headers.get("host", "").rpartition(":")[2]
    return f"codex_mcp_{port if port.isdecimal() else 'web'}"
