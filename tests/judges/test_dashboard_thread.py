"""One turn in a real Chromium, on the pages of two servers at once, which say the same; and its page for everybody."""

import asyncio
import contextlib
import json
import os
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from codex_mcp.scripted_model.server import ScriptedModel
from tests.acceptance.team.test_dashboard_http import link_of, server_with
from tests.support.clients.browser import Browser, running_browser
from tests.support.dashboard.visitor import own_pages
from tests.support.patience import PATIENCE
from tests.support.servers.commands import command
from tests.support.servers.mcp_server import Json
from tests.support.team.team_server import TeamServer, structured, team_server

pytestmark = pytest.mark.timeout(10 * PATIENCE)  # a browser opens many pages: half a minute on a quiet machine

ASKS: Json = {"sandbox": "workspace-write", "approval-policy": "on-request", "background": True}
WORK = """
[scenes.work]
steps = [
    { gate = "think" },
    { run = "read x < held; echo the word is $x", yield_time_ms = 30000 },
    { plan = [{ step = "Look", status = "completed" }, "Do"] },
    { run = "git push --force", escalate = true, justification = "It has to leave this machine." },
    { say = "Nothing was **pushed**.\\n\\n- one\\n- two" },
]
[scenes.say]
steps = [{ say = "Summed up." }]
"""

WIDE = "document.documentElement.scrollWidth - document.documentElement.clientWidth"
FLEET = "fetch('/ui/fleet.json').then((r) => r.json())"


@contextlib.asynccontextmanager
async def work(folder: Path) -> AsyncIterator[tuple[TeamServer, ScriptedModel, Browser, list[str]]]:
    """An agent's server, a browser, and two places that show it: its own pages, and those of another server."""
    script = folder / "work.toml"
    script.write_text(WORK)
    async with (
        running_browser() as browser,
        team_server(folder, "-c", "tools.update_plan.enabled=true", script=script, elicitation=False) as (
            server,
            model,
        ),
        server_with(folder) as other,
        own_pages(server.setup) as (_, link),
    ):
        await browser.do("open")
        for tab, each in enumerate((link.strip(), (await link_of(other)).splitlines()[0])):
            await browser.do("tab", at=tab)
            assert await browser.do("go", url=each) == 200
            # A fleet without agents is loaded again when the first one comes; nobody is sent elsewhere meanwhile.
            assert await browser.do("go", url=f"{each.partition('/ui/')[0]}/ui/health") == 200
        await browser.do("tab", at=0)
        yield server, model, browser, [link.partition("/ui/")[0].strip(), f"http://127.0.0.1:{other.port}"]
        assert await browser.do("complaints") == []


async def test_each_place_says_what_happens_as_it_happens(tmp_path: Path) -> None:
    async with work(tmp_path) as (server, model, browser, origins):
        fifo = server.setup.work / "held"
        await asyncio.to_thread(os.mkfifo, fifo)
        await server.start("Do the work.\n[[scene: work]]", identity="arch", **ASKS)
        for tab, origin in enumerate(origins):
            for more, path in enumerate(("/ui/fleet", "/ui/threads/arch")):
                await browser.do("tab", at=tab + 2 * more)
                assert await browser.do("go", url=origin + path) == 200

        async def everywhere(group: str, now: str, thread: str, glyph: str) -> None:
            """Both fleets, both threads, both twins and the terminal say this."""
            for tab in (0, 1):
                await browser.do("tab", at=tab)
                await browser.see(f"#group-{group} .row", now)
                twin = f"{FLEET}.then((told) => told.sections.map((each) => each.group).join())"
                await browser.do("until", expression=f"{twin}.then((groups) => groups === '{group}')")
                await browser.do("tab", at=tab + 2)
                await browser.see(".thread-talk", thread)
                await browser.see(f"#head .glyph.{glyph}")
            status = json.loads((await asyncio.to_thread(command, server.setup.home, "status", "--json")).stdout)
            assert json.dumps(status).count('"arch"') >= 1

        await everywhere("work", "", "Do the work.", "work")
        model.release("think")
        await everywhere("work", "read x < held", "runs", "work")
        await asyncio.to_thread(fifo.write_text, "blue\n")
        await everywhere("need", "wants to run git push --force", "It has to leave this machine.", "need")
        await browser.see("#ask .hints", "rewrites the history of a remote")
        await browser.see("#steps", "the word is blue")
        await browser.see("#inspector", "Plan 1 of 2")
        shown = await asyncio.to_thread(command, server.setup.home, "show", "arch")
        assert "the word is blue" in shown.stdout
        await browser.do("click", selector="#ask .deny > summary")
        await browser.do("click", selector="#ask .denial button[value=denied]")
        await browser.see("#ask #receipt", "It was answered (denied) by")
        (done,) = structured(await server.run("codex_wait", {"ids": ["arch"]}))["finished"]
        assert done["content"].startswith("Nothing was")
        await everywhere("ready", "Nothing was", "one", "seen")


async def asking(server: TeamServer, model: ScriptedModel, browser: Browser, origin: str) -> list[Json]:
    """The agent asks, and its page shows that; the cookies of the browser."""
    model.release("think")
    (server.setup.work / "held").write_text("blue\n")
    await server.start("Do the work.\n[[scene: work]]", identity="arch", **ASKS)
    await browser.do("go", url=f"{origin}/ui/threads/arch")
    await browser.see("#ask h2", "wants to run a command")
    cookies: list[Json] = await browser.do("cookies")
    return cookies


async def test_the_page_of_a_thread_is_for_everybody(tmp_path: Path) -> None:
    async with work(tmp_path) as (server, model, browser, (origin, _)):
        cookies = await asking(server, model, browser, origin)
        kinds: list[Json] = [{"width": width, "theme": theme} for width in (1360, 390) for theme in ("light", "dark")]
        kinds += [{"width": 680}, {"width": 320}, {"forced": "active"}, {"motion": "reduce"}, {"javascript": False}]
        for kind in kinds:
            await browser.do("open", height=844, cookies=cookies, **kind)
            for path in ("", "/diff", "/summary") if "theme" in kind else ("",):
                assert await browser.do("go", url=f"{origin}/ui/threads/arch{path}") == 200
                await browser.see("#head", "arch")
                assert await browser.do("tell", expression=WIDE) <= 0, (kind, path)
                if kind.get("javascript", True):
                    await browser.see("#live", "Live" if kind.get("width", 1360) > 420 else "")
                    assert await browser.do("axe") == [], (kind, path)
            await browser.do("until", expression="document.getAnimations().length === 0")


async def test_an_agent_is_written_to_without_javascript_and_by_touch(tmp_path: Path) -> None:
    async with work(tmp_path) as (server, model, browser, (origin, _)):
        cookies = await asking(server, model, browser, origin)
        # Without JavaScript the page has the same words, and its forms work.
        await browser.do("open", height=844, cookies=cookies, javascript=False)
        await browser.do("go", url=f"{origin}/ui/threads/arch")
        await browser.see("#steps", "the word is blue")
        await browser.do("fill", selector="#write", text="Never mind. [[scene: say]]")
        await browser.do("click", selector="label:has-text('Stop and do this')")
        await browser.do("click", selector="[data-send]")
        await browser.see(".said", "Sent: the turn is stopped, and this begins.")
        # On a phone, by touch, nothing lies under a bar.
        await browser.do("open", width=390, height=844, cookies=cookies)
        await browser.do("go", url=f"{origin}/ui/threads/arch")
        await browser.see("#transcript", "Never mind.")
        await browser.see("#head .glyph.seen")
        await browser.do("fill", selector="#write", text="And now? [[scene: say]]")
        await browser.do("tap", selector="[data-send]")
        await browser.see("#composer .said", "Sent.")
        await browser.see("#transcript", "And now?")
        over = "document.elementFromPoint(...(({ x, y, width, height }) => [x + width / 2, y + height / 2])(document.querySelector('[data-send]').getBoundingClientRect())).closest('[data-send]') !== null"  # noqa: E501
        await browser.do("until", expression=over)
