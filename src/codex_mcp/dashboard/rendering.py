"""Pages and parts of them as HTML, from the same templates. Everything is escaped unless a template says otherwise."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Sequence
from datetime import UTC, datetime
from functools import cache
from typing import Final

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from msgspec import Struct

from codex_mcp.base.files import read_regular
from codex_mcp.base.printable import age, visible
from codex_mcp.dashboard.desks.desk import PARTS, TITLES, DeskPage
from codex_mcp.dashboard.live import Parts
from codex_mcp.dashboard.views.attention import Group
from codex_mcp.dashboard.views.jumps import Jump
from codex_mcp.dashboard.views.pages import FleetPage, NeedsPage

HERE: Final = os.path.dirname(os.path.abspath(__file__))

TYPES: Final = {".css": b"text/css; charset=utf-8", ".js": b"text/javascript; charset=utf-8", ".svg": b"image/svg+xml"}

FILES: Final = ("app.css", "app.js", "icons.svg", "favicon.svg", "favicon-need.svg")


class Frame(Struct, frozen=True, kw_only=True):
    """What stands around every page."""

    page: str
    """Its name, as in its address, or empty."""
    team: str = ""
    need: int = 0
    """Agents that need a person."""
    mail: int = 0
    """Unread messages for whoever looks."""
    csrf: str = ""
    theme: str = ""
    jumps: Sequence[Jump] = ()
    """What the palette offers."""
    is_signed_in: bool = False
    may_control: bool = False
    now: float


class StaticFile(Struct, frozen=True):
    name: str
    kind: bytes
    body: bytes


@cache
def static_files() -> dict[str, StaticFile]:
    """The files by the path under which they are served: the hash in it lets browsers keep them for ever."""
    found = {}
    for name in FILES:
        body = _slim(read_regular(os.path.join(HERE, "static", name)))
        stem, ending = os.path.splitext(name)
        path = f"/ui/static/{stem}.{hashlib.sha256(body).hexdigest()[:12]}{ending}"
        found[path] = StaticFile(name, TYPES[ending], body)
    return found


def _slim(body: bytes) -> bytes:
    """Without the indentation and the lines that are comments: a tenth of what a browser loads first."""
    lines = (line.strip() for line in body.split(b"\n"))
    return b"\n".join(line for line in lines if line and not line.startswith(b"//"))


@cache
def _addresses() -> dict[str, str]:
    return {file.name: path for path, file in static_files().items()}


@cache
def _environment() -> Environment:
    environment = Environment(
        loader=FileSystemLoader(os.path.join(HERE, "templates")),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        finalize=_shown,
    )
    environment.globals["static"] = _addresses()
    environment.filters["age"] = age
    environment.filters["stamp"] = _stamp
    environment.filters["clock"] = _clock
    environment.filters["time"] = _time
    return environment


def _shown(value: object) -> object:
    """A last look at every text: what hides or turns other text around is shown by its number."""
    is_plain = not isinstance(value, str) or hasattr(value, "__html__") or value.isprintable()
    return value if is_plain else visible(str(value))


def _stamp(seconds: float) -> str:
    return datetime.fromtimestamp(seconds, UTC).isoformat(timespec="seconds")


def _time(seconds: float) -> str:
    """`14:05:07 UTC`: the page shows it as the browser's own time."""
    return datetime.fromtimestamp(seconds, UTC).strftime("%H:%M:%S")


def _clock(seconds: float) -> str:
    """`9:05`, `1:02:03`: time that is left."""
    left = max(0, int(seconds))
    hours, rest = divmod(left, 3600)
    return f"{hours}:{rest // 60:02}:{rest % 60:02}" if hours else f"{rest // 60}:{rest % 60:02}"


def page(template: str, frame: Frame, **values: object) -> bytes:
    return _environment().get_template(template).render(frame=frame, **values).encode()


class Shown(Struct, frozen=True):
    """What is said about the answer that was just given."""

    problem: str = ""
    """Why it could not be used; the question is still open."""
    is_second: bool = False
    """Another answer came first."""


PLAIN: Final = Shown()


def fleet(found: FleetPage, frame: Frame) -> bytes:
    title = title_of(found.counts.need, "Fleet", frame)
    return page("fleet.html", frame, page=found, title=title)


def needs(found: NeedsPage, frame: Frame, shown: Shown = PLAIN, *, is_detail: bool = True) -> bytes:
    """`is_detail`: one entry was asked for, which fills a small screen."""
    title = title_of(found.counts.need, "Needs you", frame)
    return page("needs-you.html", frame, page=found, title=title, shown=shown, is_detail=is_detail)


def desk(found: DeskPage, frame: Frame) -> bytes:
    title = title_of(found.counts.need, TITLES[frame.page], frame)
    return page(f"{frame.page}.html", frame, page=found, title=title)


def desk_parts(found: DeskPage, frame: Frame) -> Parts:
    html = {name: _part(name, frame, "desks.html", page=found) for name in PARTS[frame.page]}
    html |= {"sentence": _part("sentence", frame, page=found), **badges(frame)}
    return Parts(html, {}, title_of(found.counts.need, TITLES[frame.page], frame), found.sentence)


def card(found: NeedsPage, frame: Frame, shown: Shown) -> str:
    return _part("card", frame, page=found, shown=shown)


def fleet_parts(found: FleetPage, frame: Frame) -> Parts:
    """The parts of the open page. Their times are those of the frame: the page counts them on by itself."""
    rows = {f"row-{row.key}": _part("row", frame, row=row) for section in found.sections for row in section.rows}
    html = {
        "sentence": _part("sentence", frame, page=found),
        "tabs": _part("tabs", frame, page=found),
        "notes": _part("notes", frame, page=found),
        "others": _part("others", frame, page=found),
        "limits": _part("limits", frame, page=found),
        **badges(frame),
        **rows,
    }
    shown = {str(section.group): [f"row-{row.key}" for row in section.rows] for section in found.sections}
    lists = {f"group-{group}": shown.get(group, []) for group in Group}
    return Parts(html, lists, title_of(found.counts.need, "Fleet", frame), found.sentence)


def needs_parts(found: NeedsPage, frame: Frame) -> Parts:
    html = {
        "sentence": _part("sentence", frame, page=found),
        "queue": _part("queue", frame, page=found),
        **badges(frame),
    }
    if found.card is not None or found.trouble is not None:
        html["card"] = _part("card", frame, page=found, shown=PLAIN)
    return Parts(html, {}, title_of(found.counts.need, "Needs you", frame), found.sentence)


def part(template: str, name: str, **values: object) -> str:
    """One macro of a template."""
    return str(getattr(_environment().get_template(template).module, name)(**values))


def _part(name: str, frame: Frame, template: str = "parts.html", **values: object) -> str:
    return part(template, name, frame=frame, **values)


def badges(frame: Frame) -> dict[str, str]:
    places = ("top", "bottom")
    found = {f"badge-{place}": _part("badge", frame, place=place) for place in places}
    return found | {f"unread-{place}": _part("unread", frame, place=place) for place in places}


def title_of(need: int, name: str, frame: Frame) -> str:
    number = f"({need}) " if need else ""
    return " · ".join(filter(None, (f"{number}{name}", frame.team, "codex-mcp")))
