"""Reads and writes for Mail, Executors, Health and Audit; `site` decides who may ask for them."""

from __future__ import annotations

import re
import time
from collections.abc import Mapping
from functools import partial
from typing import Final

from msgspec.structs import replace

from codex_mcp.control.server import Caller
from codex_mcp.dashboard.desks.again import ask_again
from codex_mcp.dashboard.desks.desk import Desk, DeskPage, desk_page, entries_for
from codex_mcp.dashboard.desks.done import Done
from codex_mcp.dashboard.desks.mail import Reader
from codex_mcp.dashboard.desks.mail_forms import deliver, mark_read, send
from codex_mcp.dashboard.fleet import PROGRAM, Fleet
from codex_mcp.dashboard.people import People
from codex_mcp.dashboard.place import Place
from codex_mcp.dashboard.sessions import Session
from codex_mcp.dashboard.views.facts import AgentFacts
from codex_mcp.dashboard.views.forms import Posted
from codex_mcp.dashboard.views.rows import attention_counts

OF_MESSAGE: Final = re.compile("/ui/mail/(.{1,300})/(deliver|read)", re.DOTALL)
AGAIN: Final = re.compile("/ui/questions/([^/]{1,100}/[^/]{1,100})/again")
SESSION: Final = re.compile("/ui/sessions/([0-9a-f]{8})/end")


class Desks:
    def __init__(self, place: Place, people: People) -> None:
        self._place = place
        self._people = people

    async def page(
        self, name: str, chosen: str, asked: Mapping[str, str], session: Session, fleet: Fleet
    ) -> DeskPage | None:
        """What a page shows now; None if what was chosen is not there."""
        desk = self._desk(name, chosen, asked, session)
        entries = await entries_for(self._place.state_dir, desk)
        return self._shown(replace(desk, entries=entries), session, fleet)

    def live(self, name: str, chosen: str, asked: Mapping[str, str], session: Session, fleet: Fleet) -> DeskPage | None:
        """The same for a page that is open."""
        return self._shown(self._desk(name, chosen, asked, session), session, fleet)

    def _desk(self, name: str, chosen: str, asked: Mapping[str, str], session: Session) -> Desk:
        person = session.person
        browsers = self._people.browsers(session) if name == "health" else ()
        reader = Reader(person.writes_as, may_write=not person.view)
        return Desk(name=name, chosen=chosen, asked=asked, reader=reader, principal=person.principal, browsers=browsers)

    def _shown(self, desk: Desk, session: Session, fleet: Fleet) -> DeskPage | None:
        facts, now = fleet.facts(), time.time()
        return desk_page(desk, facts, attention_counts(facts, partial(is_seen, session), now), now)

    async def posted(self, path: str, posted: Posted, session: Session, fleet: Fleet) -> Done | None:
        """Do what a form of these pages asks for; None if it is not one of theirs."""
        state_dir, facts, person = self._place.state_dir, fleet.facts(), session.person
        caller = Caller(program=PROGRAM, person=person.name, principal=person.principal)
        if path == "/ui/mail":
            return await send(state_dir, facts, posted, person.writes_as, caller)
        if (named := OF_MESSAGE.fullmatch(path)) is not None:
            if named[2] == "read":
                return await mark_read(state_dir, facts, named[1], person.writes_as, caller)
            return await deliver(state_dir, facts, named[1], caller)
        if (named := AGAIN.fullmatch(path)) is not None:
            return await ask_again(state_dir, facts, named[1], caller)
        return None

    def ended(self, path: str, session: Session) -> Session | None:
        """The session that a form of Health has ended."""
        named = SESSION.fullmatch(path)
        return None if named is None else self._people.end(session, named[1])


def is_seen(session: Session, agent: AgentFacts) -> bool:
    return session.seen.get(agent.codex_id) == agent.used_at
