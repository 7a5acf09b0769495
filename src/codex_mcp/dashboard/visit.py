"""A request of somebody who is signed in, and what it names."""

from __future__ import annotations

from collections.abc import Callable

import msgspec
from msgspec import Struct

from codex_mcp.control.server import Caller
from codex_mcp.dashboard import rendering
from codex_mcp.dashboard.answers import HTML, Answer
from codex_mcp.dashboard.fleet import PROGRAM, Fleet
from codex_mcp.dashboard.rendering import Frame
from codex_mcp.dashboard.sessions import Session
from codex_mcp.dashboard.views.facts import AgentFacts, FleetFacts
from codex_mcp.dashboard.views.forms import Posted
from codex_mcp.transports.http import JSON, HttpExchange


class Visit(Struct, frozen=True):
    """A request of somebody who is signed in."""

    http: HttpExchange
    session: Session
    fleet: Fleet
    frame: Callable[[str, FleetFacts, int], Frame]
    """What stands around a page, given how many need a person."""
    seen: Callable[[AgentFacts], bool]
    as_json: bool


def unknown(visit: Visit, text: str, *, status: int = 404) -> Answer:
    if visit.as_json:
        return Answer(status, msgspec.json.encode({"error": text}), JSON)
    frame = visit.frame("", visit.fleet.facts(), 0)
    return Answer(status, rendering.page("message.html", frame, text=text, opens=""), HTML)


def agent_of(facts: FleetFacts, ref: str) -> AgentFacts | None:
    """By any of its names; of several that had an identity, the one that runs, or else the one used last."""
    found = [each for each in facts.agents if ref in (each.codex_id, each.identity, each.thread_id)]
    return max(found, key=lambda each: (each.status == "active", each.used_at), default=None)


def field(posted: Posted, name: str) -> str:
    return (posted.get(name) or [""])[0]


def number(text: str | None) -> int | None:
    return int(text) if text is not None and text.isdecimal() and len(text) < 10 else None


def caller_of(session: Session, *, view: bool = False) -> Caller:
    person = session.person
    return Caller(program=PROGRAM, person=person.name, principal=person.principal, view=view or person.view)
