"""`codex-mcp status`: who needs you, and the servers of the state folder with their agents, at this moment."""

from __future__ import annotations

import argparse
import asyncio
import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from msgspec import Struct

from codex_mcp.base.printable import age, counted, one_line
from codex_mcp.cli.output import SCHEMA, print_json, print_text, terminal_width
from codex_mcp.cli.people.finding import caller_of
from codex_mcp.cli.state.folder import add_state_argument, state_folder
from codex_mcp.cli.tables import table
from codex_mcp.control.server import Caller
from codex_mcp.dashboard.fleet import Fleet
from codex_mcp.dashboard.views.attention import Group
from codex_mcp.dashboard.views.pages import FleetPage, fleet_page
from codex_mcp.wire import control

DESCRIPTION: Final = "Show who needs you, and the servers of the state folder with their agents."

COMMAND: Final = "status"
TITLES: Final = ("SERVER", "VERSION", "RUNS FOR", "TEAM", "AGENTS", "CLIENTS", "PAGES")
NO_SERVER: Final = "No server with a team runs here."
WHERE: Final = "codex-mcp approvals shows the questions, and answers them."


class _Server(Struct, frozen=True):
    process: int
    version: str
    team: str
    started_at: float
    agents: int
    page: str
    clients: Sequence[control.ClientOf]


class _Found(Struct, frozen=True):
    page: FleetPage
    servers: Sequence[_Server]
    unreached: Sequence[str]


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--json", action="store_true", help="print JSON")
    add_state_argument(parser)


def run(arguments: argparse.Namespace, environment: Mapping[str, str], cwd: str) -> int:
    folder = state_folder(arguments, environment, cwd)
    found = asyncio.run(_look(folder, caller_of(COMMAND, environment)))
    if arguments.json:
        print_json({"schema": SCHEMA, **_document(found)})
    else:
        print_text("\n".join(_lines(found, time.time())))
    return 0


async def _look(folder: str, caller: Caller) -> _Found:
    fleet = Fleet(folder, caller)
    fleet.begin()
    try:
        await fleet.ready()
        facts, greetings = fleet.facts(), fleet.greetings()
    finally:
        await fleet.aclose()
    agents = Counter(each.node for each in facts.agents if each.status == "active")
    servers = sorted((_server(each, agents) for each in greetings), key=lambda each: each.started_at)
    return _Found(fleet_page(facts, lambda _: False, time.time()), servers, [each.why for each in facts.silent])


def _server(said: control.Greeting, agents: Mapping[str, int]) -> _Server:
    about = (said.pid, said.version, said.team, said.started_at)
    return _Server(*about, agents[said.node], said.page, said.clients)


def _lines(found: _Found, now: float) -> Iterator[str]:
    page = found.page
    yield f"{page.sentence} {page.detail}" if not page.is_empty else page.sentence
    needs = [row for section in page.sections if section.group is Group.NEED for row in section.rows]
    for row in needs:
        yield f"  {row.name} {one_line(row.sentence)}{f' {one_line(row.about)}' if row.about else ''}"
    for item in page.others:
        yield f"  {one_line(item.name)} {one_line(item.text)}"
    if needs or page.others:
        yield WHERE
    yield ""
    rows = [_row(each, now) for each in found.servers]
    yield table(TITLES, rows, terminal_width(), whole=1, optional=("PAGES",)) if rows else NO_SERVER
    yield from found.unreached


def _row(server: _Server, now: float) -> tuple[str, ...]:
    name, since = f"process {server.process}", age(now - server.started_at)
    return name, server.version, since, server.team, counted(server.agents, "agent"), _clients(server), server.page


def _clients(server: _Server) -> str:
    names = Counter[str]()
    for each in server.clients:
        names[one_line(each.name)] += each.sessions
    return ", ".join(name if number == 1 else f"{name} ({number})" for name, number in sorted(names.items())) or "none"


def _document(found: _Found) -> dict[str, object]:
    page = found.page
    rows = [row for section in page.sections for row in section.rows]
    return {
        "sentence": page.sentence,
        "detail": page.detail,
        "servers": found.servers,
        "agents": [
            {"identity": row.name, "group": row.group, "sentence": row.sentence, "about": row.about, "since": row.since}
            for row in rows
        ],
        "unreached": found.unreached,
    }
