"""Answers in a real Chromium: every kind of question, by mouse, keys and touch; nothing by accident; pages cut off."""

import json
from pathlib import Path

import pytest

from tests.acceptance.team.test_terminal_kinds import OVERRIDES, SCRIPT, decided
from tests.judges.test_dashboard import ASKS, Scene
from tests.support.clients.browser import running_browser
from tests.support.dashboard.visitor import own_pages
from tests.support.patience import PATIENCE
from tests.support.rendezvous import TcpProxy
from tests.support.servers.mcp_server import Json
from tests.support.team.scenes import TEAM_SCRIPT
from tests.support.team.team_server import TeamServer, structured, team_server

pytestmark = pytest.mark.timeout(10 * PATIENCE)  # a browser opens many pages: half a minute on a quiet machine

NEEDS = "fetch('/ui/needs-you.json').then((r) => r.json())"
WIDE = "document.documentElement.scrollWidth - document.documentElement.clientWidth"
COVERED = """(() => { const bar = document.querySelector('.bottom'); return getComputedStyle(bar).display === 'none' ? 0 : bar.getBoundingClientRect().top; })()"""  # noqa: E501


async def go_to(at: Scene, name: str) -> None:
    """The card of what this agent asks."""
    found = await at.browser.do("tell", expression=NEEDS)
    (href,) = [item["href"] for item in found["items"] if item["name"] == name]
    assert await at.browser.do("go", url=at.origin + href) == 200
    await at.browser.see("#card h2", name)


async def requests_of(server: TeamServer, names: list[str]) -> Json:
    """What their turns have ended with."""
    told = structured(await server.run("codex_wait", {"ids": names, "mode": "all"}))
    return {each["identity"]: each["content"] for each in told["finished"]}


async def test_every_kind_is_answered_by_mouse_by_keys_and_by_touch(tmp_path: Path) -> None:
    async with (
        running_browser() as browser,
        team_server(tmp_path, overrides=OVERRIDES, script=SCRIPT, elicitation=False) as (server, model),
        own_pages(server.setup) as (pages, link),
    ):
        at = Scene(server, browser, link, pages)
        scenes = ("command", "patch", "permissions", "choice", "tool", "form")
        for name in scenes:
            await server.start(f"[[scene: {name}]]", identity=name, **ASKS)
        await browser.do("open")
        await browser.keys_alone()
        assert await browser.do("go", url=at.link) == 200
        await browser.see("h1", "6 agents need you.")
        # By keys: once, for the session, with a note.
        await go_to(at, "command")
        await browser.see("#live", "Live")
        await browser.a_moment()
        await browser.keys("d", *"No", "Tab", "Enter")
        await browser.see("#receipt", "It was answered (denied) by mira")
        await go_to(at, "patch")
        await browser.see("#live", "Live")
        await browser.a_moment()
        await browser.keys("s", "Enter")
        await browser.see("#receipt", "It was answered (approved_for_session) by mira")
        # By mouse.
        await go_to(at, "permissions")
        await browser.do("click", selector="button.main")
        await browser.see("#receipt", "It was answered (approved) by mira")
        await go_to(at, "choice")
        await browser.do("click", selector="label.choice >> nth=1")
        await browser.do("click", selector="button.main")
        await browser.see("#receipt", "It was answered")
        # By touch.
        cookies = await browser.do("cookies")
        await browser.do("open", width=390, height=844, cookies=cookies)
        assert await browser.do("go", url=f"{at.origin}/ui/needs-you") == 200
        await go_to(at, "tool")
        assert await browser.do("tell", expression=WIDE) <= 0
        assert await browser.do("tell", expression=COVERED) == 0
        high = "document.querySelector('button.main').getBoundingClientRect().height"
        assert await browser.do("tell", expression=high) >= 44
        await browser.do("tap", selector="button.main")
        await browser.see("#receipt", "It was answered (approved) by mira")
        await go_to(at, "form")
        await browser.do("tap", selector="button.main")
        await browser.see("#receipt", "It was answered (approved) by mira")
        await browser.do("go", url=f"{at.origin}/ui/needs-you")
        await browser.do("until", expression=f"{NEEDS}.then((told) => told.items.length === 1)")
        await go_to(at, "form")
        await browser.do("fill", selector="input[type=text]", text="Bern")
        await browser.do("tap", selector="button.main")
        await browser.see("#receipt", "It was answered")
        assert set((await requests_of(server, list(scenes))).values()) == {"Over."}
        given = json.dumps([request.json for request in model.requests])
        for words in ("Reason given: No", "A made.txt", "blue", "echo: ", "Bern"):
            assert words in given, words
        assert {(by, via) for _, by, via in decided(server)} == {("mira", "page")}
        assert len(decided(server)) == 7
        assert await browser.do("complaints") == []


async def test_nothing_is_answered_by_accident(tmp_path: Path) -> None:
    async with (
        running_browser() as browser,
        team_server(tmp_path, script=TEAM_SCRIPT, elicitation=False) as (server, _model),
        own_pages(server.setup) as (pages, link),
    ):
        at = Scene(server, browser, link, pages)
        await server.start("[[scene: escalate]]", identity="first", **ASKS)
        await browser.do("open")
        await browser.keys_alone()
        assert await browser.do("go", url=at.link) == 200
        await browser.see("h1", "1 agent needs you.")
        await at.card()
        await browser.see("#live", "Live")
        for words in ("as I said, go ahead", "yes", "please use redis", "as a start, all is fine; s"):
            await browser.keys(*("Space" if letter == " " else letter for letter in words), "Enter")
        await browser.a_moment()
        for key in ("a", "s"):
            await browser.do("down", key=key)  # held down: it repeats, and other keys come between
            await browser.do("down", key=key)
            await browser.do("up", key=key)
            await browser.keys("Space")
            await browser.keys("Enter")
            await browser.a_moment()
        await browser.do("down", key="Enter")
        await browser.do("down", key="Enter")
        await browser.do("up", key="Enter")
        told = await browser.do("tell", expression=NEEDS)
        assert (len(told["items"]), told["answered"]) == (1, [])
        # A question that comes between the letter and Enter is not the one that is answered.
        await browser.a_moment()
        await browser.keys("a")
        await browser.see(".press", "press")
        await server.start("[[scene: escalate]]", identity="second", **ASKS)
        await browser.see("#queue", "second")
        await browser.keys("Enter")
        await browser.see("#receipt", "It was answered (approved) by mira")
        told = await browser.do("tell", expression=NEEDS)
        assert [item["name"] for item in told["items"]] == ["second"]
        assert [item["name"] for item in told["answered"]] == ["first"]
        assert await browser.do("complaints") == []


SHORT = "{ const set = window.setTimeout; window.setTimeout = (act, ms, ...more) => set(act, ms === 15000 ? 50 : ms, ...more); }"  # noqa: E501
HIDE = "Object.defineProperty(document, 'hidden', { get: () => window.isHidden, configurable: true }); window.isHidden = {}; document.dispatchEvent(new Event('visibilitychange'))"  # noqa: E501
LIVE = "document.querySelector('#live .live-text').textContent"
DRAFT = "document.querySelector('textarea[name=reason]').value"


async def test_a_page_that_was_cut_off_shows_what_a_fresh_one_shows(tmp_path: Path) -> None:
    async with (
        running_browser() as browser,
        team_server(tmp_path, script=TEAM_SCRIPT, elicitation=False) as (server, _model),
        own_pages(server.setup) as (pages, link),
    ):
        at = Scene(server, browser, link, pages)
        await server.start("[[scene: escalate]]", identity="first", **ASKS)
        async with TcpProxy(int(at.origin.rpartition(":")[2])) as proxy:
            await browser.do("open")
            assert await browser.do("go", url=at.link.replace(at.origin, proxy.url)) == 200
            await browser.see("h1", "1 agent needs you.")
            await browser.do("go", url=f"{proxy.url}/ui/needs-you")
            await browser.see("#live", "Live")
            await browser.do("click", selector=".deny > summary")
            await browser.do("fill", selector="textarea[name=reason]", text="A draft.")
            proxy.gate.clear()
            proxy.cut()
            await browser.see("#live", "Not live")
            await browser.do("until", expression="document.querySelector('button.main').disabled")
            await server.start("[[scene: escalate]]", identity="second", **ASKS)
            proxy.gate.set()
            await browser.see("#live", "Live")
            await browser.see("#queue", "second")
            assert await browser.do("tell", expression=DRAFT) == "A draft."
            assert not await browser.do("tell", expression="document.querySelector('button.main').disabled")
            queue = "document.querySelector('#queue').innerText.replace(/\\d+ (s|min)/g, '')"
            was = await browser.do("tell", expression=queue)
            await browser.do("go", url=f"{proxy.url}/ui/needs-you")
            assert await browser.do("tell", expression=queue) == was
            await at.pages.ask_to_end()
            await at.pages.exit_code()
            await browser.see("#live", "Not live")
        # Eight tabs: four listen, and the others wait until somebody looks at them.
        async with own_pages(server.setup) as (_, again):
            origin = again.partition("/ui/")[0].strip()
            await browser.do("open")
            await browser.do("before", script=SHORT)
            assert await browser.do("go", url=again.strip()) == 200
            for tab in range(1, 8):
                await browser.do("tab", at=tab)
                assert await browser.do("go", url=f"{origin}/ui/fleet") == 200
                await browser.see("#live", "Live")
            await browser.do("tab", at=0)
            await browser.see("#live", "Paused")
            await browser.do("tell", expression="dispatchEvent(new Event('focus'))")
            await browser.see("#live", "Live")
            # One that is hidden rests, and is told the number by another one.
            await browser.do("tab", at=1)
            await browser.do("tell", expression=HIDE.replace("{}", "true"))
            await browser.do("tab", at=0)
            await browser.do("tell", expression="dispatchEvent(new Event('focus'))")
            await server.start("[[scene: escalate]]", identity="third", **ASKS)
            await browser.see("h1", "3 agents need you.")
            await browser.do("tab", at=1)
            await browser.do("until", expression="document.title.startsWith('(3) ')")
            assert await browser.do("complaints") == []
