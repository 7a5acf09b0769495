"""Pictures of every page of the dashboard, from `codex-mcp demo --team`: `make pictures`.

They are for people to look at: nothing compares them. Three of them are in docs/.
"""

import asyncio
import os
import re
import shutil
import sys
import tempfile
from pathlib import Path
from typing import Any

from tests.support.clients.browser import Browser, running_browser
from tests.support.servers.child import Child

ROOT = Path(__file__).parents[3]
FOLDER = ROOT / "pictures"
LINK = re.compile(r"(http\S+)/ui/sign-in\?code=[a-z]+")

SIZES = {"desk": (1360, 850), "phone": (390, 844)}
THEMES = ("light", "dark")

IN_DOCS = {
    "fleet-desk-light": "dashboard-fleet",
    "health-desk-dark": "dashboard-health",
    "mail-phone-light": "dashboard-mail",
}
"""Which of them are in docs/, and how they are called there."""


async def take(browser: Browser, origin: str, link: str) -> None:
    """All pages in both sizes and themes."""
    await browser.do("open")
    await browser.do("go", url=f"{origin}/ui/sign-in")
    await browser.do("picture", path=str(FOLDER / "sign-in-desk-light.png"))
    assert await browser.do("go", url=link) == 200
    await browser.see("h1", "1 agent needs you.")
    cookies = await browser.do("cookies")
    told = {name: await _told(browser, name) for name in ("needs-you", "mail", "fleet")}
    pages = {name: f"/ui/{name}" for name in ("fleet", "executors", "health", "audit")}
    pages |= {"mails": "/ui/mail", "mail": told["mail"]["conversations"][-1]["href"]}
    pages |= {"needs-you": told["needs-you"]["items"][0]["href"], "needs-you-list": "/ui/needs-you"}
    rows = [row for section in told["fleet"]["sections"] for row in section["rows"]]
    for row in rows:
        pages[f"thread-{row['name']}"] = f"/ui/threads/codex:{row['key']}"
        pages[f"diff-{row['name']}"] = f"/ui/threads/codex:{row['key']}/diff"
    for size, (width, height) in SIZES.items():
        for theme in THEMES:
            await browser.do("open", width=width, height=height, theme=theme, cookies=cookies)
            for name, path in pages.items():
                if await browser.do("go", url=origin + path) != 200:
                    continue
                await browser.do("until", expression="document.fonts.status === 'loaded'")
                if await browser.do("tell", expression="'events' in document.body.dataset"):
                    await browser.do(
                        "until", expression="document.querySelector('#live .live-text').textContent === 'Live'"
                    )
                await browser.do("picture", path=str(FOLDER / f"{name}-{size}-{theme}.png"))
    await browser.do("open", theme="dark", cookies=cookies, width=1360, height=850)
    await browser.do("go", url=f"{origin}/ui/fleet")
    await browser.see("#live", "Live")
    await browser.keys("Control+k", *"re")
    await browser.do("picture", path=str(FOLDER / "palette-desk-dark.png"))
    await browser.keys("Escape")
    await browser.do("click", selector="#keys-button")
    await browser.do("picture", path=str(FOLDER / "keys-desk-dark.png"))
    assert await browser.do("complaints") == []


async def _told(browser: Browser, page: str) -> dict[str, Any]:
    told: dict[str, Any] = await browser.do("tell", expression=f"fetch('/ui/{page}.json').then((r) => r.json())")
    return told


async def main() -> None:
    """Start the demo, take them, and copy those of the docs."""
    shutil.rmtree(FOLDER, ignore_errors=True)
    FOLDER.mkdir()
    with tempfile.TemporaryDirectory() as home:
        environment = {"PATH": os.environ["PATH"], "HOME": home, "LANG": "C.UTF-8"}
        argv = [sys.executable, "-m", "codex_mcp", "demo", "--team"]
        async with Child(argv, environment, Path(home), stdin=False) as demo, running_browser() as browser:
            while (found := LINK.search(line := (await demo.stdout.readline()).decode())) is None:
                assert line, "the demo has ended"
            await take(browser, found[1], found[0])
            await demo.ask_to_end()
            await demo.exit_code()
    for name, called in IN_DOCS.items():
        shutil.copyfile(FOLDER / f"{name}.png", ROOT / "docs" / f"{called}.png")
    sys.stdout.write(f"{len(list(FOLDER.iterdir()))} pictures are in {FOLDER}\n")


if __name__ == "__main__":
    asyncio.run(main())
