"""The dashboard by touch, by Tab and after a jump of the clock, in a real Chromium."""

import re
from pathlib import Path

import pytest

from tests.judges.test_dashboard import ASKS, scene
from tests.support.clients.browser import Browser
from tests.support.patience import PATIENCE
from tests.support.team.team_server import say

pytestmark = pytest.mark.timeout(10 * PATIENCE)  # a browser opens many pages: half a minute on a quiet machine

FOCUS = "(({ id, name, value, textContent, ariaLabel, className }) => id || ariaLabel || value || textContent.trim().split('\\n')[0] || name || className)(document.activeElement)"  # noqa: E501
AGE = re.compile(r"\d+ (s|min).*")
JUMP = "{ let by = 0; const now = Date.now; Date.now = () => now() + by; window.jump = (ms) => { by += ms; }; }"
FREE = """(() => {
  const { x, y, width, height } = document.querySelector('SELECTOR').getBoundingClientRect();
  return document.elementFromPoint(x + width / 2, y + height / 2).closest('SELECTOR') !== null;
})()"""


async def test_a_question_is_denied_with_a_note_by_touch(tmp_path: Path) -> None:
    async with scene(tmp_path) as at:
        await at.server.start("[[scene: escalate]]", identity="arch", **ASKS)
        await at.sign_in(width=390, height=844)
        await at.browser.do("go", url=f"{at.origin}/ui/needs-you")
        await at.browser.do("tap", selector="#queue a.item")
        await at.browser.see("#card h2", "wants to run a command")
        await at.browser.do("tap", selector=".deny > summary")
        await at.browser.do("fill", selector="textarea[name=reason]", text="Not on a Friday.")
        button = ".denial button[value=denied]"
        await at.browser.do(
            "tell", expression=f"document.querySelector('{button}').scrollIntoView({{ block: 'nearest' }})"
        )
        await at.browser.do("until", expression=FREE.replace("SELECTOR", button))
        await at.browser.do("tap", selector=button)
        await at.browser.see("#receipt", "It was answered (denied) by mira")
        assert await at.ended() == "It was refused."


TOP = ["Go to the content", "codex-mcp default", "Fleet", "Needs you 1", "Mail 0", "Executors", "Health"]
TOP += ["jump-button", "notify-button", "Dark theme", "keys-button", "Sign out"]
ANSWERS = ["approved", "approved_execpolicy_amendment", "Deny…d"]
ORDER = {
    "fleet": ["All 2", "Needs you 1", "Working 0", "Ready 1", "Inactive 0", "filter", "arch", "dev"],
    "needs-you": ["Needs youarch", "arch", "What it did before", *ANSWERS],
    "threads/arch": [
        *("Needs youarch", "Ready, newdev", "Interruptpress ↵", "More", "Transcript", "Diff", "Summary"),
        *("arch", *ANSWERS, "write", "steer", "Send"),
    ],
}
"""What has the focus, as Tab goes through a page after what all pages have at their top."""


async def passed(browser: Browser, number: int) -> list[str]:
    found = []
    for _ in range(number):
        await browser.keys("Tab")
        found.append(str(await browser.do("tell", expression=FOCUS)))
    return found


async def test_tab_goes_through_a_page_as_it_is_read(tmp_path: Path) -> None:
    async with scene(tmp_path) as at:
        await at.server.start(say("hello"), identity="dev")
        await at.server.start("[[scene: escalate]]", identity="arch", **ASKS)
        await at.sign_in()
        await at.browser.see("h1", "1 agent needs you.")
        for page, order in ORDER.items():
            await at.browser.do("go", url=f"{at.origin}/ui/{page}")
            await at.browser.see("#live", "Live")
            seen = await passed(at.browser, len(TOP) + len(order))
            rest = [AGE.sub("", words) for words in seen[len(TOP) :]]
            assert (seen[: len(TOP)], rest) == (TOP, order), page


async def test_a_page_whose_clock_jumped_shows_what_a_fresh_one_shows(tmp_path: Path) -> None:
    async with scene(tmp_path) as at:
        await at.server.start("[[scene: escalate]]", identity="arch", **ASKS)
        await at.browser.do("open")
        await at.browser.do("before", script=JUMP)
        await at.browser.do("go", url=at.link)
        await at.browser.see("h1", "1 agent needs you.")
        await at.card()
        await at.browser.see("#live", "Live")
        await at.browser.do("click", selector=".deny > summary")
        await at.browser.do("fill", selector="textarea[name=reason]", text="A draft.")
        await at.browser.do("tell", expression="jump(3600 * 1000)")
        await at.browser.see("#queue time", "1 h")
        await at.server.start("[[scene: escalate]]", identity="second", **ASKS)
        await at.browser.see("#queue", "second")
        await at.browser.see("#live", "Live")
        assert (
            await at.browser.do("tell", expression="document.querySelector('textarea[name=reason]').value")
            == "A draft."
        )
        await at.browser.do("tell", expression="jump(-7200 * 1000)")  # backwards, as a clock that is set right
        await at.browser.see("#queue time", "0 s")
        await at.browser.see("#live", "Live")
        await at.browser.do("click", selector="form[data-answer] button[value=approved]")
        await at.browser.see("#receipt", "It was answered (approved) by mira")
