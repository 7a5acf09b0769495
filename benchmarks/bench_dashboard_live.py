"""The dashboard while fifty agents change ten times a second: in Chromium, and on the server of the pages."""

from __future__ import annotations

import asyncio
import gzip
import os
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from benchmarks.bench_dashboard import NOW, facts_of, frame_of, question, unseen
from benchmarks.place import Place
from benchmarks.rows import Aim, Row, Unit
from codex_mcp.dashboard import rendering
from codex_mcp.dashboard.views.pages import fleet_page
from codex_mcp.wire.control_thread import Step
from tests.support.clients.browser import Browser, running_browser
from tests.support.dashboard.crowd import Crowd, crowd
from tests.support.dashboard.visitor import own_pages
from tests.support.http.client import connect
from tests.support.servers.mcp_server import Setup

AGENTS = 50
PER_SECOND = 10
SECONDS = 20.0
STEPS = 10_000
QUESTIONS = 50
CALM = 0.3
"""Seconds between two questions."""
KIB = 1024

LONG_TASKS = "window.tasks = 0; new PerformanceObserver((list) => { window.tasks += list.getEntries().length; }).observe({ type: 'longtask' })"  # noqa: E501


def run(place: Place) -> list[Row]:
    """Needs Chromium and the judges' downloads."""
    seconds = SECONDS * (0.2 if place.effort.is_quick else 1.0)
    return [_kept(), *asyncio.run(_live(place.folder / "dashboard live", seconds))]


def _kept() -> Row:
    """What was sent last is kept, so that only what differs is sent."""
    facts = facts_of(AGENTS)
    parts = rendering.fleet_parts(fleet_page(facts, unseen, NOW), frame_of(facts, "fleet"))
    size = sum(len(html) for html in parts.html.values())
    return Row("what the server keeps for an open Fleet of 50 agents", Unit.BYTES, [], [size], Aim(at_most=300 * KIB))


async def _live(folder: Path, seconds: float) -> list[Row]:
    async with _pages(folder) as (playing, browser, origin, pid):
        await browser.do("tell", expression=LONG_TASKS)
        began, busy, worked = time.monotonic(), await browser.do("busy"), _processor(pid)
        await _storm(playing, seconds)
        lasted = time.monotonic() - began
        share = 100 * (await browser.do("busy") - busy) / lasted
        flushed = 1000 * (_processor(pid) - worked) / (4 * lasted)
        storm_tasks = await browser.do("tell", expression="window.tasks")
        sent = _sent_size()
        await browser.do("go", url=f"{origin}/ui/threads/codex:{0:012x}")
        await browser.see("#live", "Live")
        await browser.do("tell", expression=LONG_TASKS)
        for block in range(0, STEPS, 100):
            steps = [Step(id=f"{block + at}", kind="ran", text=f"make {block + at}", exit_code=0) for at in range(100)]
            playing.step(*steps, thread=f"codex:{0:012x}")
            await asyncio.sleep(seconds / 2 / (STEPS / 100))
        await browser.see("#steps", f"make {STEPS - 1}")
        step_tasks = await browser.do("tell", expression="window.tasks")
        shown = await _shown(playing, browser, origin, pid)
    storm = f"{AGENTS} agents × {PER_SECOND} changes a second"
    return [
        Row("asked at the socket, sent to an open page", Unit.MILLISECONDS, [], shown, Aim(at_most=150), part=0.95),
        Row(f"{storm}: main thread of the page", Unit.PERCENT, [], [share], Aim(at_most=15)),
        Row(f"{storm}: long tasks of the page", Unit.TASKS, [], [storm_tasks], Aim(at_most=0)),
        Row(f"{storm}: the server's processor time for a flush", Unit.MILLISECONDS, [], [flushed], Aim(at_most=10)),
        Row(f"{storm}: sent a second, gzipped", Unit.BYTES, [], [4 * sent], Aim(at_most=40 * KIB)),
        Row(f"{STEPS:,} steps into an open thread: long tasks", Unit.TASKS, [], [step_tasks], Aim(at_most=3)),
    ]


@asynccontextmanager
async def _pages(folder: Path) -> AsyncIterator[tuple[Crowd, Browser, str, int]]:
    setup = Setup(folder)
    setup.make()
    async with (
        crowd(setup.home / ".config/atm/codex-sessions", AGENTS) as playing,
        running_browser() as browser,
        own_pages(setup) as (pages, link),
    ):
        await browser.do("open", width=1360, height=850)
        await browser.do("go", url=link.strip())
        await browser.see("#live", "Live")
        yield playing, browser, link.partition("/ui/")[0].strip(), pages.process.pid


async def _shown(playing: Crowd, browser: Browser, origin: str, pid: int) -> list[float]:
    """Milliseconds from a question to the patch that shows it, one after the other."""
    kept = "; ".join(f"{each['name']}={each['value']}" for each in await browser.do("cookies"))
    port = int(origin.rpartition(":")[2])
    own = {"host": f"127.0.0.1:{port}", "cookie": kept, "sec-fetch-site": "same-origin"}
    found = []
    async with connect(port) as wire:
        wire.send("GET", "/ui/events?page=needs-you", b"", own)
        await wire.read_head()
        while b"event: patch" not in await wire.read_chunk():
            pass
        for number in range(QUESTIONS):
            asked = f"{number:x}{pid:x}/question-1"
            await asyncio.sleep(CALM)
            began = time.perf_counter()
            playing.ask(question(asked))
            while asked.encode() not in await wire.read_chunk():
                pass
            found.append(1000 * (time.perf_counter() - began))
    return found


async def _storm(playing: Crowd, seconds: float) -> None:
    for number in range(round(seconds * PER_SECOND)):
        for each in range(AGENTS):
            playing.change(each, doing=f"running make part-{number}", added=number, mail=number % 3)
        await asyncio.sleep(1 / PER_SECOND)


def _sent_size() -> int:
    """A flush in which all rows differ."""
    facts = facts_of(AGENTS)
    parts = rendering.fleet_parts(fleet_page(facts, unseen, NOW), frame_of(facts, "fleet"))
    rows = [html for key, html in parts.html.items() if key.startswith("row-")]
    return len(gzip.compress("".join(rows).encode()))


def _processor(pid: int) -> float:
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
