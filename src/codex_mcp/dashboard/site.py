"""The routes of the pages."""

from __future__ import annotations

import asyncio
import logging
import re
import time
from collections.abc import Callable, Mapping
from functools import partial
from typing import Final, NoReturn, TypeAlias

import msgspec

from codex_mcp.base.errors import Refused
from codex_mcp.base.principals import LOCAL
from codex_mcp.control.asked import Asked
from codex_mcp.control.failures import CannotReach
from codex_mcp.dashboard import guard, rendering
from codex_mcp.dashboard.answering import Answered, answered, found
from codex_mcp.dashboard.answers import HTML, Answer, see
from codex_mcp.dashboard.desks.desk import ADDRESS, TITLES
from codex_mcp.dashboard.desks.mail import unread_for
from codex_mcp.dashboard.desks.serving import Desks, is_seen
from codex_mcp.dashboard.fleet import Fleet, Fleets
from codex_mcp.dashboard.live import Parts
from codex_mcp.dashboard.people import People
from codex_mcp.dashboard.place import Place
from codex_mcp.dashboard.rendering import Frame, Shown
from codex_mcp.dashboard.sessions import Session
from codex_mcp.dashboard.streams import Streams
from codex_mcp.dashboard.thread.routes import Threads
from codex_mcp.dashboard.views.facts import FleetFacts
from codex_mcp.dashboard.views.forms import Posted
from codex_mcp.dashboard.views.jumps import jumps
from codex_mcp.dashboard.views.pages import FleetPage, NeedsPage, fleet_page, needs_page
from codex_mcp.dashboard.views.rows import looked_at
from codex_mcp.dashboard.visit import Visit, caller_of
from codex_mcp.transports.connections import INPUT_SECONDS
from codex_mcp.transports.http import JSON, TEXT, BodyTooLarge, Disconnected, HttpExchange, TooMuchHeld
from codex_mcp.wire.control import Question

logger = logging.getLogger(__name__)

LONGEST_BODY: Final = 256 * 1024

ID: Final = "([^/]{1,100}/[^/]{1,100})"
NEEDS: Final = re.compile(f"/ui/needs-you(?:/{ID})?")
QUESTION: Final = re.compile(f"/ui/questions/{ID}")
THREADS: Final = ("/ui/threads/", "/ui/@")
SEEN: Final = re.compile("/ui/agents/([^/]{1,100})/seen")

OLD_CODE: Final = "This code was used already, or is older than a minute. Run the command again."
WRONG_TOKEN: Final = "This token lets nobody in here. The generated token of a server is not one of a person."
NOT_OURS: Final = "This form is not from this page, or the page is too old. Load it again."
VIEW_ONLY: Final = "This session may only read. Run codex-mcp dashboard for one that may answer."
UNKNOWN_QUESTION: Final = "No question of this name is known here. It may have ended more than a day ago."


Look: TypeAlias = Callable[[Fleet, Session, Mapping[str, str], Frame], Parts]
"""What an open page would show now."""

MOST_ANSWERING: Final = 4
"""Answers on their way at once; others wait. Each has a connection to its server, which has room for few."""

NOTHING_CHOSEN: Final = "none/none"

NOT_QUESTIONS: Final = ("agent/", "account/", "core/", "server/")
"""How the keys of Needs you begin that name no question."""


class Site:
    def __init__(self, place: Place) -> None:
        self._place = place
        self.people = People(place)
        self._fleets = Fleets(place.state_dir)
        self._streams = Streams()
        self._answering = asyncio.Semaphore(MOST_ANSWERING)
        self._desks = Desks(place, self.people)
        self._threads = Threads(place.state_dir, place.codex_home)
        self._looks: Mapping[str, Look] = {"fleet": self._fleet_look, "needs-you": self._needs_look}

    def stop(self) -> None:
        """End the streams, so that the server can end."""
        self._streams.close()

    async def aclose(self) -> None:
        self.stop()
        await self._threads.aclose()
        await self._fleets.aclose()

    async def serve(self, http: HttpExchange) -> None:
        """Answer a request whose path is /ui, or below it."""
        http.extra_headers.extend(guard.HEADERS)
        try:
            await self._route(http)
        except Answer as answer:
            if guard.FOR_EVER not in answer.headers:
                http.extra_headers.append(guard.NOT_STORED)
            await http.respond(answer.status, answer.body, *answer.headers)
        except Disconnected:
            logger.debug("a browser disconnected before it had sent its whole form")

    async def _route(self, http: HttpExchange) -> None:
        if guard.is_arrival(http.method, http.headers):
            raise self._message(http, 200, "You come from another page.", f"{http.path}?{http.query.decode('latin-1')}")
        refused = guard.rejection(self._place.gate, http.method, http.headers)
        if refused is not None:
            raise Answer(refused.status, refused.why.encode() + b"\n", TEXT)
        if http.path == "/":
            raise see("/ui/fleet")
        if http.method not in ("GET", "POST"):
            raise Answer(405, b"", (b"allow", b"GET, POST"))
        if (file := rendering.static_files().get(http.path)) is not None:
            raise Answer(200, file.body, (b"content-type", file.kind), guard.FOR_EVER)
        if http.path == "/ui/sign-in":
            await self._sign_in(http)
        session = self.people.session(http)
        if session is None and http.method == "GET" and http.path.endswith(".json"):
            session = self.people.reader(http)
        if session is None:
            raise self._stranger(http)
        if http.connection is not None and not http.connection.admitted(session.person.principal or LOCAL):
            raise self._message(http, 503, "You have too many connections. Close one, and try again.")
        serve = self._get if http.method == "GET" else self._post
        await serve(http, session)

    def _stranger(self, http: HttpExchange) -> Answer:
        if guard.wants_json(http.headers) or http.path.endswith(".json") or http.path == "/ui/events":
            return Answer(401, b'{"error":"sign in first"}', JSON)
        return self._sign_in_page(http, 200 if http.method == "GET" else 401)

    # -------------------------------------------------------------------------------------------------- signing in

    async def _sign_in(self, http: HttpExchange) -> NoReturn:
        if http.method == "GET":
            code = guard.query(http.query).get("code")
            if code is None:
                raise self._sign_in_page(http, 200)
            session, problem = self.people.with_code(http, code), OLD_CODE
        else:
            posted = await _posted(http)
            token = (posted.get("token") or [""])[0].strip()
            if token:
                session, problem = self.people.with_token(http, token), WRONG_TOKEN
            else:
                session, problem = self.people.with_code(http, (posted.get("code") or [""])[0]), OLD_CODE
        if session is None:
            raise self._sign_in_page(http, 403, problem)
        raise see("/ui/fleet", self.people.cookie(http, session))

    def _sign_in_page(self, http: HttpExchange, status: int, problem: str = "") -> Answer:
        values = {"problem": problem, "has_tokens": self.people.have_tokens}
        return Answer(status, rendering.page("sign-in.html", self._frame(http, None, ""), **values), HTML)

    def _message(self, http: HttpExchange, status: int, text: str, opens: str = "") -> Answer:
        frame = self._frame(http, self.people.session(http), "")
        return Answer(status, rendering.page("message.html", frame, text=text, opens=opens), HTML)

    def _frame(self, http: HttpExchange, session: Session | None, page: str) -> Frame:
        theme = guard.cookies(http.headers).get(guard.THEME_COOKIE, "")
        return Frame(
            page=page,
            csrf="" if session is None else session.csrf,
            theme=theme if theme in guard.THEMES else "",
            is_signed_in=session is not None,
            may_control=session is not None and not session.person.view,
            now=time.time(),
        )

    # ------------------------------------------------------------------------------------------------------ reading

    async def _get(self, http: HttpExchange, session: Session) -> None:
        path = http.path.removesuffix(".json")
        wants_json = path != http.path or guard.wants_json(http.headers)
        if path in ("/ui", "/ui/"):
            raise see("/ui/fleet")
        fleet = await self._fleets.of(session.person.principal)
        if path == "/ui/events":
            await self._follow(http, session, fleet)
        elif path == "/ui/fleet":
            asked = guard.query(http.query)
            page = self._fleet_page(fleet, session, asked)
            raise self._page(http, session, fleet, page, as_json=wants_json)
        elif path.startswith(THREADS):
            raise await self._threads.get(self._visit(http, session, fleet, as_json=wants_json), path)
        elif (named := NEEDS.fullmatch(path)) is not None:
            chosen = named[1] or ""
            try:
                needs = await self._needs_page(fleet, session, chosen)
            except CannotReach as exc:
                raise self._unknown(http, str(exc), as_json=wants_json) from None
            if chosen and needs.card is None and needs.trouble is None and not chosen.startswith(NOT_QUESTIONS):
                raise self._unknown(http, as_json=wants_json)
            raise self._page(http, session, fleet, needs, as_json=wants_json)
        elif (named := ADDRESS.fullmatch(path)) is not None:
            raise await self._desk(http, session, fleet, named, as_json=wants_json)
        else:
            raise self._unknown(http, "There is no such page.", as_json=wants_json)

    async def _desk(
        self, http: HttpExchange, session: Session, fleet: Fleet, named: re.Match[str], *, as_json: bool
    ) -> Answer:
        page = await self._desks.page(named[1], named[2] or "", guard.query(http.query), session, fleet)
        if page is None:
            return self._unknown(http, f"There is nothing of this name in {TITLES[named[1]]}.", as_json=as_json)
        if as_json:
            return Answer(200, msgspec.json.encode(page), JSON)
        frame = _whole(self._frame(http, session, named[1]), fleet.facts(), session, page.counts.need)
        return Answer(200, rendering.desk(page, frame), HTML)

    def _visit(self, http: HttpExchange, session: Session, fleet: Fleet, *, as_json: bool) -> Visit:
        def frame(page: str, facts: FleetFacts, need: int) -> Frame:
            return _around(self._frame(http, session, page), facts, session, need)

        return Visit(http, session, fleet, frame, partial(is_seen, session), as_json)

    def _unknown(self, http: HttpExchange, text: str = UNKNOWN_QUESTION, *, as_json: bool) -> Answer:
        return Answer(404, msgspec.json.encode({"error": text}), JSON) if as_json else self._message(http, 404, text)

    def _page(
        self, http: HttpExchange, session: Session, fleet: Fleet, page: FleetPage | NeedsPage, *, as_json: bool
    ) -> Answer:
        if as_json:
            return Answer(200, msgspec.json.encode(page), JSON)
        is_fleet = isinstance(page, FleetPage)
        frame = self._frame(http, session, "fleet" if is_fleet else "needs-you")
        frame = _whole(frame, fleet.facts(), session, page.counts.need)
        if isinstance(page, FleetPage):
            return Answer(200, rendering.fleet(page, frame), HTML)
        is_second = guard.query(http.query).get("second") == "1"
        is_detail = http.path.rstrip("/") != "/ui/needs-you"
        return Answer(200, rendering.needs(page, frame, Shown(is_second=is_second), is_detail=is_detail), HTML)

    def _fleet_page(self, fleet: Fleet, session: Session, asked: Mapping[str, str]) -> FleetPage:
        show, q = asked.get("show", ""), asked.get("q", "")[:200]
        return fleet_page(fleet.facts(), partial(is_seen, session), time.time(), show=show, q=q)

    async def _needs_page(self, fleet: Fleet, session: Session, chosen: str, shown: Asked | None = None) -> NeedsPage:
        facts = fleet.facts()
        is_known = any(each.question.id == chosen for each in (*facts.asked, *facts.answered))
        if chosen and not is_known and shown is None and not chosen.startswith(NOT_QUESTIONS):
            shown = await found(self._place.state_dir, fleet, chosen, caller_of(session, view=True))
        page = needs_page(fleet.facts(), partial(is_seen, session), time.time(), chosen=chosen, shown=shown)
        if (asked := _open_question(fleet.facts(), page)) is not None:
            await self._threads.before(fleet, asked)
        return self._with_before(fleet, page)

    def _with_before(self, fleet: Fleet, page: NeedsPage) -> NeedsPage:
        asked = _open_question(fleet.facts(), page)
        known = None if asked is None else self._threads.known_before(fleet, asked)
        return msgspec.structs.replace(page, before=known)

    async def _follow(self, http: HttpExchange, session: Session, fleet: Fleet) -> None:
        asked = guard.query(http.query)
        look = self._looks.get(asked.get("page", ""), self._desk_look)
        began = self._frame(http, session, asked.get("page", ""))
        if asked.get("page") == "needs-you":
            await self._needs_page(fleet, session, asked.get("chosen", "") or NOTHING_CHOSEN)
        if asked.get("page") == "thread":
            shows = await self._threads.look(self._visit(http, session, fleet, as_json=True), asked.get("ref", ""))
        else:
            shows = partial(look, fleet, session, asked, began)
        http.extra_headers.append(guard.NOT_STORED)
        await self._streams.serve(http, session, fleet, shows, partial(self.people.is_valid, session))

    def _fleet_look(self, fleet: Fleet, session: Session, asked: Mapping[str, str], frame: Frame) -> Parts:
        page = self._fleet_page(fleet, session, asked)
        return rendering.fleet_parts(page, _around(frame, fleet.facts(), session, page.counts.need))

    def _needs_look(self, fleet: Fleet, session: Session, asked: Mapping[str, str], frame: Frame) -> Parts:
        chosen = asked.get("chosen", "") or NOTHING_CHOSEN
        page = needs_page(fleet.facts(), partial(is_seen, session), time.time(), chosen=chosen)
        page = self._with_before(fleet, page)
        return rendering.needs_parts(page, _around(frame, fleet.facts(), session, page.counts.need))

    def _desk_look(self, fleet: Fleet, session: Session, asked: Mapping[str, str], frame: Frame) -> Parts:
        chosen = asked.get("chosen", "")
        page = self._desks.live(frame.page, chosen, asked, session, fleet) if frame.page in TITLES else None
        if page is None:
            return Parts()
        return rendering.desk_parts(page, _around(frame, fleet.facts(), session, page.counts.need))

    # ------------------------------------------------------------------------------------------------------ writing

    async def _post(self, http: HttpExchange, session: Session) -> None:
        posted = await _posted(http)
        if not session.sent_by_us((posted.get("csrf") or [""])[0]):
            raise self._message(http, 403, NOT_OURS)
        if http.path == "/ui/sign-out":
            self.people.leave(session)
            self._streams.end(session)
            raise see("/ui/sign-in", self.people.cookie(http, None))
        if http.path == "/ui/settings":
            theme = (posted.get("theme") or [""])[0]
            raise see(_back(posted), guard.cookie(guard.THEME_COOKIE, theme if theme in guard.THEMES else ""))
        if session.person.view:
            raise self._message(http, 403, VIEW_ONLY)
        await self._change(http, session, posted)

    async def _change(self, http: HttpExchange, session: Session, posted: Posted) -> None:
        """What only a session may do that can do more than read."""
        fleet = await self._fleets.of(session.person.principal)
        if http.path.startswith(THREADS):
            visit = self._visit(http, session, fleet, as_json=guard.wants_json(http.headers))
            raise await self._threads.post(visit, posted)
        if (named := QUESTION.fullmatch(http.path)) is not None:
            raise await self._answer(http, session, fleet, named[1], posted)
        if (named := SEEN.fullmatch(http.path)) is not None:
            agent = next((each for each in fleet.facts().agents if each.codex_id == named[1]), None)
            if agent is not None:
                session.see(agent.codex_id, agent.used_at)
                fleet.changed()
            raise see("/ui/needs-you")
        if (ended := self._desks.ended(http.path, session)) is not None:
            self._streams.end(ended)
            raise see("/ui/health")
        done = await self._desks.posted(http.path, posted, session, fleet)
        if done is None:
            raise self._message(http, 404, "There is no such page.")
        raise self._message(http, done.status, done.sentence) if done.sentence else see(done.location)

    def _not_reached(self, http: HttpExchange, done: Answered, *, as_json: bool) -> Answer:
        if as_json:
            return Answer(done.status, msgspec.json.encode(_told(done, "")), JSON)
        return self._message(http, done.status, done.sentence)

    async def _answer(
        self, http: HttpExchange, session: Session, fleet: Fleet, question_id: str, posted: Posted
    ) -> Answer:
        async with self._answering:
            done = await answered(self._place.state_dir, fleet, question_id, posted, caller_of(session))
        as_json = guard.wants_json(http.headers)
        if done is None:
            return self._unknown(http, as_json=as_json)
        if done.asked is None:
            raise self._not_reached(http, done, as_json=as_json)
        is_receipt = done.state is not None
        if not as_json and is_receipt:
            return see(f"/ui/needs-you/{question_id}{'' if done.used else '?second=1'}")
        page = await self._needs_page(fleet, session, question_id, done.asked)
        frame = _whole(self._frame(http, session, "needs-you"), fleet.facts(), session, page.counts.need)
        shown = Shown(problem="" if is_receipt else done.sentence, is_second=is_receipt and not done.used)
        if not as_json:
            return Answer(done.status, rendering.needs(page, frame, shown), HTML)
        return Answer(done.status, msgspec.json.encode(_told(done, rendering.card(page, frame, shown))), JSON)


def _told(done: Answered, html: str) -> dict[str, object]:
    said = {name: getattr(done, name) for name in ("used", "state", "by", "via", "at", "sentence")}
    return {**said, "html": html}


def _open_question(facts: FleetFacts, page: NeedsPage) -> Question | None:
    """That of the card, if it can still be answered."""
    chosen = "" if page.card is None else page.card.id
    return next((each.question for each in facts.asked if each.question.id == chosen), None)


def _team(facts: FleetFacts) -> str:
    return facts.teams[0] if len(facts.teams) == 1 else ""


def _whole(frame: Frame, facts: FleetFacts, session: Session, need: int) -> Frame:
    """The frame of a whole page, with what can be jumped to."""
    looked = looked_at(facts, partial(is_seen, session), frame.now)
    return msgspec.structs.replace(_around(frame, facts, session, need), jumps=jumps(looked, facts))


def _around(frame: Frame, facts: FleetFacts, session: Session, need: int) -> Frame:
    """The frame with what is counted on every page."""
    mail = unread_for(facts, session.person.writes_as)
    return msgspec.structs.replace(frame, team=_team(facts), need=need, mail=mail)


def _back(posted: Posted) -> str:
    """The page from which a form came, if it is one of ours."""
    page = (posted.get("back") or [""])[0]
    return f"/ui/{page}" if page in ("needs-you", *TITLES) else "/ui/fleet"


async def _posted(http: HttpExchange) -> Posted:
    try:
        async with asyncio.timeout(INPUT_SECONDS):
            return guard.posted(await http.read_body(LONGEST_BODY))
    except TimeoutError:
        raise Answer(408, b"This form did not arrive in time.\n", TEXT, (b"connection", b"close")) from None
    except BodyTooLarge:
        raise Answer(413, b"This form is too long.\n", TEXT) from None
    except TooMuchHeld:
        raise Answer(503, b"Too many forms are incomplete; try again.\n", TEXT) from None
    except Refused as exc:
        raise Answer(400, f"{exc}\n".encode(), TEXT) from None
