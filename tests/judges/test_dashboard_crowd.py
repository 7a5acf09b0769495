"""The dashboard in a real Chromium with many agents and long threads, which a server of the control socket plays."""

import asyncio
import contextlib
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from codex_mcp.wire import control
from codex_mcp.wire.control_thread import Step
from tests.support.clients.browser import Browser, running_browser
from tests.support.dashboard.crowd import Crowd, crowd
from tests.support.dashboard.facts import HARM
from tests.support.dashboard.visitor import own_pages
from tests.support.patience import PATIENCE
from tests.support.servers.mcp_server import Setup

pytestmark = pytest.mark.timeout(10 * PATIENCE)  # a browser opens many pages: half a minute on a quiet machine

WIDE = "document.documentElement.scrollWidth - document.documentElement.clientWidth"
ROWS = "[...document.querySelectorAll('#group-work .row')].map((row) => row.id).join()"
LONG = HARM.replace("{{ 7 * 7 }}", "") + "‮" + "x" * 8_000


@contextlib.asynccontextmanager
async def looked_at(folder: Path, count: int, **changes: object) -> AsyncIterator[tuple[Crowd, Browser, str]]:
    """A crowd, a browser that is signed in, and where the pages are."""
    setup = Setup(folder)
    setup.make()
    async with (
        crowd(setup.home / ".config/atm/codex-sessions", count, **changes) as playing,
        running_browser() as browser,
        own_pages(setup) as (_, link),
    ):
        await browser.do("open", width=1360, height=850)
        assert await browser.do("go", url=link.strip()) == 200
        await browser.see("#live", "Live")
        yield playing, browser, link.partition("/ui/")[0].strip()
        assert await browser.do("complaints") == []


async def storm(playing: Crowd, rounds: int) -> None:
    """Every agent changes in each round, ten rounds a second."""
    for number in range(rounds):
        for each in range(50):
            playing.change(each, doing=f"running make part-{number}", added=number, mail=number % 3)
        await asyncio.sleep(0.1)


async def test_nothing_moves_under_the_pointer_while_fifty_agents_work(tmp_path: Path) -> None:
    async with looked_at(tmp_path, 50) as (playing, browser, _):
        await browser.see("h1", "Nobody needs you.")
        elements = await browser.do("tell", expression="document.querySelectorAll('*').length")
        assert elements <= 2000, elements
        before = await browser.do("tell", expression=ROWS)
        await browser.do("hover", selector="#group-work .row:nth-of-type(9)")
        await browser.do("tell", expression="document.querySelectorAll('#group-work a.name')[4].focus()")
        await browser.do("tell", expression="getSelection().selectAllChildren(document.querySelector('h1'))")
        await browser.do("tell", expression="scrollTo(0, 200)")
        place = "JSON.stringify([scrollY, document.activeElement.textContent, String(getSelection()), getComputedStyle(document.querySelectorAll('#group-work .row')[8]).top, document.querySelectorAll('#group-work .row')[8].getBoundingClientRect().top])"  # noqa: E501
        was = await browser.do("tell", expression=place)
        storming = playing.tasks.spawn(storm(playing, 20), name="storm")
        playing.change(3, thread_state="idle", said="Done.")
        await browser.see("#tabs", "Ready 1")
        await storming
        await browser.see("#group-work", "make part-19")
        assert await browser.do("tell", expression=ROWS) == before
        assert await browser.do("tell", expression=place) == was
        await browser.do("until", expression="document.getAnimations().length <= 1")
        await browser.do("tell", expression="document.activeElement.blur()")
        await browser.do("away")
        await browser.see("#group-ready .row", "agent-3")
        assert "000000000003" not in await browser.do("tell", expression=ROWS)


def said(number: int) -> Step:
    return Step(id=f"step-{number}", kind="ran", text=f"make part-{number}", exit_code=0)


async def test_ten_thousand_steps_stay_readable(tmp_path: Path) -> None:
    async with looked_at(tmp_path, 1) as (playing, browser, origin):
        thread = f"codex:{0:012x}"
        playing.step(*map(said, range(300)), thread=thread)
        assert await browser.do("go", url=f"{origin}/ui/threads/{thread}") == 200
        await browser.see("#live", "Live")
        await browser.see("#steps", "make part-299")
        at_end = "document.querySelector('.thread-talk').getBoundingClientRect().bottom <= innerHeight + 80"
        await browser.do("until", expression=at_end)
        for block in range(300, 10_000, 100):
            playing.step(*map(said, range(block, block + 100)), thread=thread)
            await asyncio.sleep(0)
        await browser.see("#steps", "make part-9999")
        await browser.do("until", expression=at_end)
        assert await browser.do("tell", expression="document.querySelectorAll('*').length") <= 5000
        # Whoever reads further up is left alone, and told how much is new.
        await browser.do("until", expression="scrollTo(0, 300) || scrollY === 300")
        playing.step(said(10_000), said(10_001), thread=thread)
        await browser.see("#pill", "2 new")
        assert await browser.do("tell", expression="scrollY") == 300
        await browser.do("click", selector="#pill")
        await browser.do("until", expression=at_end)
        # Earlier steps come where they belong, and each has an address.
        first = "Number(document.querySelector('#steps li').dataset.n)"
        was = await browser.do("tell", expression=first)
        await browser.do("click", selector="#earlier")
        await browser.do("until", expression=f"{first} === {was - 200}")
        numbers = "[...document.querySelectorAll('#steps li')].map((each) => Number(each.dataset.n))"
        assert await browser.do("tell", expression=f"{numbers}.every((n, at, all) => !at || n === all[at - 1] + 1)")
        assert await browser.do("go", url=f"{origin}/ui/threads/{thread}?at=17") == 200
        await browser.see("#steps", "make part-17")


async def test_a_long_answer_is_shown_from_its_start_below_the_head(tmp_path: Path) -> None:
    async with looked_at(tmp_path, 1) as (playing, browser, origin):
        thread = f"codex:{0:012x}"
        playing.change(0, thread_state="idle", said="The answer begins here.")
        steps = [
            *map(said, range(30)),
            Step(id="a", kind="says", text="The answer begins here.\n\n" + "More.\n\n" * 90),
        ]
        playing.step(*steps, thread=thread)
        cookies = await browser.do("cookies")
        for width in (1360, 390):
            await browser.do("open", width=width, height=844, cookies=cookies)
            assert await browser.do("go", url=f"{origin}/ui/threads/{thread}") == 200
            await browser.see("#live", "Live" if width > 420 else "")
            below = "document.querySelector('.step.says').getBoundingClientRect().top - document.querySelector('.stick').getBoundingClientRect().bottom"  # noqa: E501
            await browser.do("until", expression=f"{below} >= 0 && {below} < 80")


def questions() -> list[control.Question]:
    """One of each kind; every text means harm, and is very long."""
    fields: dict[str, dict[str, object]] = {
        "exec": {"command_line": LONG, "cwd": LONG, "environment": LONG},
        "patch": {"changes": {LONG: {"type": "update", "unified_diff": f"@@ -1 +1 @@\n-{LONG}\n+{LONG}\n"}}},
        "permissions": {"cwd": LONG, "permissions": {"network": {"enabled": True}}},
        "mcp": {"server_name": LONG, "message": LONG, "is_tool_approval": True, "meta": {"tool_params": {LONG: LONG}}},
        "later": {},
    }
    return [
        control.Question(
            id=f"{number}f/question-1",
            kind=kind,
            state="open",
            agent="",
            thread=f"thread-{number}",
            principal="local",
            message=LONG,
            fields=given,
            offered=[control.Offer("approved", HARM), control.Offer("denied", HARM)],
            reason=LONG,
            asked_at=1.0,
            asked_of=[control.AskedOf(LONG, 1.0)],
            digest="0" * 32,
        )
        for number, (kind, given) in enumerate(fields.items())
    ]


async def test_very_long_and_harmful_text_is_text_in_every_field(tmp_path: Path) -> None:
    texts = dict.fromkeys(("identity", "team", "task", "doing", "said", "tag", "role", "branch", "repo_name"), LONG)
    async with looked_at(tmp_path, 2, **texts, last_error=LONG, cwd=f"/{LONG}", environment=LONG) as (
        playing,
        browser,
        origin,
    ):
        playing.ask(*questions())
        playing.change(0, thread_state="idle", paused=LONG, mail=1)
        thread = f"codex:{0:012x}"
        playing.step(
            Step(id=LONG, kind="user", text=LONG),
            Step(id="b", kind="says", text=f"# {LONG}\n- [{LONG}](javascript:alert(1)) `{LONG}`\n\n```\n{LONG}"),
            Step(id="c", kind="ran", text=LONG, output=f"\x1b[31m{LONG}\x1b]0;x\x07\r\n{'y' * 1_000_000}", exit_code=1),
            Step(id="d", kind="tool", tool=LONG, server=LONG, text=LONG, output=LONG),
            Step(id="e", kind=HARM, text=LONG),
            thread=thread,
        )
        cookies = await browser.do("cookies")
        for width in (1360, 390):
            await browser.do("open", width=width, height=844, cookies=cookies)
            paths = ["/ui/fleet", "/ui/executors", "/ui/health", f"/ui/threads/{thread}", f"/ui/threads/{thread}/diff"]
            for path in (*paths, *(f"/ui/needs-you/{each.id}" for each in playing.questions)):
                assert await browser.do("go", url=origin + path) == 200
                await browser.see("#live", "Live" if width > 420 else "")
                made = "document.querySelectorAll('main img, main script, main i:not([aria-hidden])').length"
                assert await browser.do("tell", expression=made) == 0, path
                assert await browser.do("tell", expression=WIDE) <= 0, (path, width)
                hidden = await browser.do("tell", expression=r"/[\u202e\u200b\x1b]/.test(document.body.innerText)")
                assert not hidden, path
